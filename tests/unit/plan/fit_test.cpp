#include "plan/run_plan.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace fit_test {

using namespace trainx;

namespace {

facts::Facts some_facts() {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{64} << 30;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return f;
}

plan::RunPlan planned(const std::string& more, const std::string& gpu = "",
                      const std::string& size =
                          "model: {type: gpt2, options: {num_layers: 6, num_heads: 4, hidden_size: "
                          "256, max_positions: 256, vocab_size: 1000}}") {
  const auto recipe =
      recipe::parse_recipe(
          size + "\ndata: {type: stories, sequence_length: 256}\noptimizer: {type: adamw}\n" + more,
          "test")
          .recipe;
  return plan::make_run_plan(recipe, some_facts(), {.gpu = gpu});
}

std::string budget(std::int64_t bytes) { return "budget: " + std::to_string(bytes) + " B"; }

std::string all_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& l : lines) text += l + "\n";
  return text;
}

}  // namespace

TEST_CASE(
    "activation_checkpoint: auto recomputes the least that fits, layer by layer, and says what it "
    "costs") {
  const std::string batch = "batch: {global_batch_size: 32, micro_batch_size: 16}\n";
  const std::int64_t none = planned(batch).memory.total_bytes(),
                     full = planned(batch + "memory: {activation_checkpoint: full}")
                                .memory.total_bytes();
  REQUIRE(full < none);
  const auto roomy = planned(batch + "memory: {activation_checkpoint: auto}");
  CHECK(*roomy.recipe.memory.activation_checkpoint.value == std::vector{RecomputeLevel::none});
  check_sentence("plan.fit/nothing_recomputed",
                 line_with(all_of(roomy.choices), "memory.activation_checkpoint"), Numbers::any);
  std::size_t mixed = 0;
  for (int k = 0; k <= 10; ++k) {
    const std::int64_t have = full + (none - full) * k / 10;
    const auto plan =
        planned(batch + "memory: {activation_checkpoint: auto, " + budget(have) + "}");
    INFO(all_of(plan.choices));
    CHECK(plan.memory.total_bytes() <= have);
    CHECK(plan.batch.micro_batch_size == 16);
    const auto& levels = *plan.recipe.memory.activation_checkpoint.value;
    mixed += levels.size() > 1;
    // One layer at one level less does not fit any more.
    auto less = levels.size() == 1 ? std::vector<RecomputeLevel>(6, levels.front()) : levels;
    const auto deepest = std::max_element(less.begin(), less.end());
    if (*deepest == RecomputeLevel::none) continue;
    for (auto last = less.rbegin(); last != less.rend(); ++last)
      if (*last == *deepest) {
        *last = static_cast<RecomputeLevel>(static_cast<int>(*last) - 1);
        break;
      }
    plan::Draft other = plan;
    other.recipe.memory.activation_checkpoint.value = less;
    CHECK(plan::plan_memory_budget(other, plan::plan_programs(other)).total_bytes() > have);
  }
  CHECK(mixed >= 5);
}

TEST_CASE("a global batch alone gets the micro-batch that fits") {
  const auto plan = planned("batch: {global_batch_size: 64}");
  CHECK(plan.batch.micro_batch_size == 16);  // 4096 tokens
  CHECK(plan.batch.grad_accum_steps == 4);
  const std::int64_t of_four =
      planned("batch: {global_batch_size: 64, micro_batch_size: 4}").memory.total_bytes();
  const auto tight = planned("batch: {global_batch_size: 64, micro_batch_size: auto}\nmemory: {" +
                             budget(of_four) + "}");
  INFO(all_of(tight.choices));
  CHECK(tight.batch.micro_batch_size == 4);
  CHECK(tight.memory.total_bytes() <= of_four);
}

TEST_CASE("memory.fit changes nothing that fits, and else the cheapest") {
  const std::string batch = "batch: {global_batch_size: 64, micro_batch_size: 64}\n";
  const auto fits = planned(batch + "memory: {fit: true}");
  CHECK(fits.batch.micro_batch_size == 64);
  check_sentence("plan.fit/fits", line_with(all_of(fits.choices), "memory.fit"), Numbers::any);
  const auto plan =
      planned(batch + "memory: {fit: true, " + budget(fits.memory.total_bytes() / 2) + "}");
  INFO(all_of(plan.choices));
  CHECK(plan.memory.total_bytes() <= fits.memory.total_bytes() / 2);
  CHECK(plan.batch.global_batch_size == 64);
  CHECK(plan.batch.micro_batch_size * plan.batch.grad_accum_steps == 64);
  CHECK_THROWS_AS(planned(batch + "memory: {fit: true, budget: 200 MiB}"), UserError);
  // By time, where it is known: what is chosen is no slower than any uniform choice that fits.
  const std::string large = "model: {type: gpt2, size: 124m}";
  const auto on_gpu = [&](const std::string& more) {
    return planned("precision: bf16\n" + more, "h200", large);
  };
  const std::string tight = budget(std::int64_t{6} << 30);
  const auto chosen = on_gpu(
      "batch: {global_batch_size: 512, micro_batch_size: 512}\nmemory: {fit: true, " + tight + "}");
  INFO(all_of(chosen.choices));
  CHECK(chosen.memory.total_bytes() <= std::int64_t{6} << 30);
  for (const char* micro : {"8", "16", "32", "64"})
    for (const char* level : {"none", "selective", "mlp", "full"}) {
      try {
        const auto other =
            on_gpu(std::string("batch: {global_batch_size: 512, micro_batch_size: ") + micro +
                   "}\nmemory: {activation_checkpoint: " + level + ", " + tight + "}");
        CAPTURE(micro, level, other.time->step_s, chosen.time->step_s);
        CHECK(chosen.time->step_s <= 1.011 * other.time->step_s);
      } catch (const UserError& e) { CHECK(e.code() == ExitCode::out_of_memory); }
    }
}

TEST_CASE(
    "activations go to the host where nothing else fits; the batch that updates in backward need "
    "stays whole") {
  const auto on_gpu = [](const std::string& memory, bool in_backward = true) {
    const std::string text =
        "model: {type: gpt2, size: 124m}\ndata: {type: stories, sequence_length: 1024}\nprecision: "
        "bf16\nbatch: {global_batch_size: 64}\noptimizer: {type: adamw, max_grad_norm: 0, "
        "update_in_backward: " +
        std::string(in_backward ? "true" : "false") + "}\nmemory: {" + memory + "}\n";
    return plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, some_facts(),
                               {.gpu = "h200"});
  };
  const auto refusal = [&](const std::string& memory) -> std::string {
    try {
      on_gpu(memory);
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::out_of_memory);
      return e.what();
    }
    return "";
  };
  const std::int64_t recomputed = on_gpu("activation_checkpoint: full").memory.total_bytes(),
                     offloaded = on_gpu("activation_checkpoint: full, activation_offload: cpu")
                                     .memory.total_bytes();
  REQUIRE(offloaded < recomputed * 9 / 10);
  CHECK(on_gpu("fit: true, " + budget(recomputed)).recipe.memory.activation_offload ==
        recipe::ActivationOffload::none);
  const auto tight = on_gpu("fit: true, " + budget(offloaded));
  INFO(all_of(tight.choices));
  CHECK(tight.recipe.memory.activation_offload == recipe::ActivationOffload::cpu);
  CHECK(tight.memory.total_bytes() <= offloaded);
  CHECK(tight.memory.host_bytes > 0);
  CHECK(tight.batch.grad_accum_steps == 1);
  check_sentence("plan.fit/activation_offload",
                 line_with(all_of(tight.choices), "memory.activation_offload cpu: "), Numbers::any);
  CHECK(refusal("activation_checkpoint: full, " + budget(offloaded))
            .find("memory.activation_offload cpu") != std::string::npos);
  const auto tighter = on_gpu("fit: true, " + budget(offloaded * 9 / 10));
  INFO(all_of(tighter.choices));
  CHECK(tighter.recipe.memory.optimizer_offload.where == recipe::OptimizerOffload::cpu);
  CHECK(tighter.memory.total_bytes() <= offloaded * 9 / 10);
  CHECK(
      refusal("activation_checkpoint: full, activation_offload: cpu, " + budget(offloaded * 9 / 10))
          .find("memory.optimizer_offload cpu") != std::string::npos);
  check_sentence("plan.fit/nothing_fits", refusal("fit: true, " + budget(offloaded / 10)),
                 Numbers::any);
  // there a smaller micro-batch is cheaper
  const auto cut = on_gpu("fit: true, " + budget(offloaded), false);
  CHECK(cut.recipe.memory.activation_offload == recipe::ActivationOffload::none);
  CHECK(cut.batch.grad_accum_steps > 1);
}

TEST_CASE("on a CPU, where the host's memory is the same, nothing is offloaded to fit") {
  const std::string batch = "batch: {global_batch_size: 16, micro_batch_size: 1}\n";
  const std::int64_t full =
      planned(batch + "memory: {activation_checkpoint: full}").memory.total_bytes();
  CHECK_THROWS_AS(planned(batch + "memory: {fit: true, " + budget(full * 9 / 10) + "}"), UserError);
  CHECK(planned(batch + "memory: {activation_offload: cpu}").memory.total_bytes() >=
        planned(batch).memory.total_bytes());
}

TEST_CASE("what was chosen plans to itself, and levels must be as many as layers") {
  for (const char* more :
       {"batch: {global_batch_size: 64}",
        "batch: {global_batch_size: 64}\nmemory: {activation_checkpoint: auto, budget: 300 MiB}",
        "batch: {global_batch_size: 64, micro_batch_size: 64}\nmemory: {fit: true, budget: 400 "
        "MiB}",
        "batch: {global_batch_size: 64}\nmemory: {fit: true, activation_checkpoint: full, "
        "recompute_segment: 2}",
        "batch: {global_batch_size: 64}\nmemory: {activation_checkpoint: auto, recompute_segment: "
        "2}"}) {
    const auto first = planned(more);
    const auto second = plan::make_run_plan(
        recipe::parse_recipe(recipe::dump(first.recipe), "resolved").recipe, some_facts());
    INFO(more << "\n" << all_of(first.choices) << recipe::dump(first.recipe));
    CHECK(plan::fingerprint(first) == plan::fingerprint(second));
  }
  CHECK_THROWS_WITH(
      planned("batch: {global_batch_size: 64}\nmemory: {activation_checkpoint: [full, none]}"),
      "memory.activation_checkpoint lists 2 levels, and the model has 6 layers; give one for each, "
      "or one for all");
}

}  // namespace fit_test
