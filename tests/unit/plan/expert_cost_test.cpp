#include "plan/explain/expert_cost.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include <cmath>

namespace expert_cost_test {

using namespace trainx;

namespace {

plan::RunPlan planned(const std::string& options, const std::string& more = "") {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.data = {true, true, 100000, 100, 0, {}, ""};
  const auto loaded = recipe::parse_recipe(
      "model: {type: gpt2, options: {num_layers: 4, num_heads: 4, hidden_size: 256, "
      "vocab_size: 512, " +
          options +
          "}}\n"
          "data: {type: tokens, train: x.bin, sequence_length: 64}\n"
          "batch: {global_batch_size: 4, micro_batch_size: 2}\noptimizer: {type: adamw}\n" +
          more,
      "test");
  return plan::make_run_plan(loaded.recipe, f, {});
}

const plan::ExpertAdvice* with_code(const std::vector<plan::ExpertAdvice>& all,
                                    const std::string& code) {
  for (const auto& a : all)
    if (a.code == code) return &a;
  return nullptr;
}

}  // namespace

TEST_CASE("what experts cost: parameters, and bytes of weights, gradients and states") {
  const auto p = planned("num_experts: 6", "precision: fp32\n");
  const auto cost = plan::expert_cost(p);
  REQUIRE(cost);
  constexpr double of_expert = 2 * 256 * 1024 + 1024 + 256;
  CHECK(cost->layers == 2);
  CHECK(cost->experts == 6);
  CHECK(cost->per_token == 1);
  CHECK(cost->parameters == 2 * 6 * of_expert);
  CHECK(cost->active == 2 * of_expert);
  const auto near = [&](std::int64_t bytes, double each) {
    const double want = cost->parameters * each;
    return std::abs(static_cast<double>(bytes) - want) < 0.001 * want;
  };
  CHECK(near(cost->weight_bytes, 4));
  CHECK(near(cost->gradient_bytes, 4));
  CHECK(near(cost->state_bytes, 8));
  CHECK_FALSE(plan::expert_cost(planned("dropout: 0")));
  // two ranks keep half of what lies in shards
  const auto half = plan::expert_cost(
      planned("num_experts: 6", "precision: fp32\nparallel: {world_size: 2, mode: zero3}\n"));
  REQUIRE(half);
  CHECK(half->parameters == cost->parameters);
  CHECK(near(half->weight_bytes, 2));
  CHECK(near(half->state_bytes, 4));
}

TEST_CASE("experts in every layer, and dozens of them, are told with what fewer save") {
  CHECK(plan::expert_advice(planned("dropout: 0")).empty());
  CHECK(plan::expert_advice(planned("num_experts: 4")).empty());
  CHECK(plan::expert_advice(planned("num_experts: 23")).empty());
  const auto every = planned("num_experts: 8, decoder_sparse_step: 1");
  const auto of_every = plan::expert_advice(every);
  REQUIRE(of_every.size() == 1);
  const auto* a = with_code(of_every, "every_other_layer");
  REQUIRE(a);
  CHECK(a->key == "model.options.decoder_sparse_step");
  CHECK(a->fewer_bytes ==
        every.memory.total_bytes() - planned("num_experts: 8").memory.total_bytes());
  const auto many = planned("num_experts: 32");
  const auto of_many = plan::expert_advice(many);
  REQUIRE(of_many.size() == 1);
  const auto* few = with_code(of_many, "few_experts");
  REQUIRE(few);
  CHECK(few->key == "model.options.num_experts");
  CHECK(few->better == 8);
  CHECK(few->fewer_bytes ==
        many.memory.total_bytes() - planned("num_experts: 8").memory.total_bytes());
  CHECK(plan::expert_advice(planned("num_experts: 32, decoder_sparse_step: 1")).size() == 2);
}

}  // namespace expert_cost_test
