#include "plan/limits.hpp"
#include "plan/batch.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"

namespace limits_test {

using namespace trainx;

namespace {

/// The words of the refusal, which must be 78; "" if the recipe is planned.
std::string refusal(const std::string& model, const std::string& batch,
                    const std::string& more = "") {
  const auto recipe =
      recipe::parse_recipe("model: {type: gpt2, options: {num_heads: 1, hidden_size: 64" + model +
                               "}}\nbatch: {" + batch + "}\n" +
                               (more.find("data:") == std::string::npos
                                    ? "data: {type: stories, sequence_length: 64}\n"
                                    : "") +
                               more,
                           "test")
          .recipe;
  try {
    planned(recipe, {.host_bytes = std::int64_t{1} << 50, .gpu = ""});
  } catch (const UserError& e) {
    CHECK(e.code() == ExitCode::invalid_recipe);
    return e.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("numbers are written with separators") {
  CHECK(plan::with_commas(0) == "0");
  CHECK(plan::with_commas(999) == "999");
  CHECK(plan::with_commas(1000) == "1,000");
  CHECK(plan::with_commas(62'500'000) == "62,500,000");
  CHECK(plan::with_commas(-1234) == "-1,234");
  CHECK(plan::with_commas(-123) == "-123");
}

TEST_CASE("a product that 64 bits do not hold is refused") {
  CHECK(plan::checked_product(1 << 30, 1 << 30, "x") == std::int64_t{1} << 60);
  CHECK_THROWS_AS(plan::checked_product(std::int64_t{1} << 40, 1 << 30, "x"), UserError);
  CHECK_THROWS_AS(plan::plan_batch({{}, 1 << 30, 1 << 30}, 1 << 16), UserError);
}

TEST_CASE("sizes beyond the limits are refused with the number") {
  CHECK(refusal(", num_layers: 2", "global_batch_size: 64, micro_batch_size: 16").empty());
  CHECK(holds(refusal(", num_layers: 2", "global_batch_size: 1000000000, micro_batch_size: 16"),
              "62,500,000"));
  CHECK(holds(refusal(", num_layers: 100000", "global_batch_size: 1"), "100,000"));
  CHECK(holds(refusal(", num_layers: 2, vocab_size: 9223372036854775807", "global_batch_size: 1"),
              "vocab_size"));
  CHECK(holds(refusal(", num_layers: 2, intermediate_size: 2147483648", "global_batch_size: 1"),
              "intermediate_size"));
  CHECK(holds(
      refusal(", num_layers: 2", "global_batch_size: 1073741824, micro_batch_size: 1073741824"),
      "1 PiB"));
  CHECK(holds(refusal(", num_layers: 2", "global_batch_size: 1",
                      "run: {duration: 10000001 steps}\nschedule: {type: cosine}\n"),
              "10,000,001"));
  CHECK(refusal(", num_layers: 2", "global_batch_size: 1", "run: {duration: 10000001 steps}\n")
            .empty());
  // deep models are searched as any other
  CHECK(refusal(", num_layers: 65", "global_batch_size: 4").empty());
  CHECK(refusal(", num_layers: 512", "global_batch_size: 4").empty());
  CHECK(holds(refusal(", num_layers: 513", "global_batch_size: 4"), "513"));
  // unless layers differ, by the model or by the recipe
  const std::string one_apart =
      "optimizer: {type: adamw, groups: [{match: \"h.0.*\", freeze: true}]}\n";
  CHECK(holds(refusal(", num_layers: 257", "global_batch_size: 4", one_apart), "257"));
  CHECK(refusal(", num_layers: 256", "global_batch_size: 4", one_apart).empty());
  CHECK(refusal(", num_layers: 257", "global_batch_size: 4, micro_batch_size: 4").empty());
  CHECK(refusal(", num_layers: 65", "global_batch_size: 4, micro_batch_size: 4",
                "memory: {fit: true}\n")
            .empty());
  CHECK(refusal(", num_layers: 65", "global_batch_size: 4, micro_batch_size: 4").empty());
  CHECK(holds(refusal(", num_layers: 33", "global_batch_size: 1",
                      "memory: {activation_checkpoint: full, recompute_segment: 33}\n"),
              "recompute_segment"));
  CHECK(refusal(", num_layers: 2", "global_batch_size: 1",
                "memory: {activation_checkpoint: full, recompute_segment: 33}\n")
            .empty());
}

TEST_CASE("what is at a limit is planned, and one more is not") {
  const auto most = [](std::int64_t layers) {
    plan::RunPlan p;
    architectures::Gpt2Dims dims;
    dims.num_layers = layers;
    p.dims = dims;
    return plan::most_micro_steps_of(p);
  };
  CHECK(most(12) > 16'000);
  CHECK(most(48) > 4'096);
  CHECK(most(plan::most_layers) > 128);
  const std::int64_t at_12 = most(12);
  plan::RunPlan p;
  p.dims = architectures::Gpt2Dims{};
  CHECK_NOTHROW(plan::require_plannable_micro_steps(p, at_12));
  CHECK_THROWS_AS(plan::require_plannable_micro_steps(p, at_12 + 1), UserError);
}

TEST_CASE("a batch that is left to trainx is cut into micro-steps that can be planned") {
  const auto recipe =
      recipe::parse_recipe(
          "model: {type: gpt2, options: {num_layers: 1, num_heads: 1, hidden_size: 64}}\nbatch: "
          "{global_batch_size: 1048576}\ndata: {type: stories, sequence_length: 8}\n",
          "test")
          .recipe;
  const auto plan = planned(recipe, {.host_bytes = std::int64_t{1} << 40, .gpu = ""});
  CHECK(plan.batch.global_batch_size == 1048576);
  CHECK(plan.batch.grad_accum_steps <= plan::most_micro_steps_of(plan));
}

}  // namespace limits_test
