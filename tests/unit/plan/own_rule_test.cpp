// Plans for optimizers of the user's own on a GPU.
#include "plan/own_rule.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/run_plan.hpp"
#include "recipe/recipe.hpp"
#include "recipe/worker_parts.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <algorithm>

namespace own_rule_test {

using namespace trainx;

namespace {

struct Known {
  Known() {
    recipe::WorkerParts parts;
    parts.optimizers = {{"numbers", "", {}, {{"m", DType::f32}}, false},
                        {"tensors", "", {}, {{"m", DType::f32}, {"v", DType::f32}}, true}};
    REQUIRE(recipe::make_known(std::move(parts)).empty());
  }
  ~Known() { recipe::make_known({}); }
};

facts::Facts facts_of() {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{16} << 30;
  f.hardware.gpus = {{"NVIDIA H200", 90, 150'754'820'096}};
  f.data = {true, true, 1000, 100, 50304, {}, ""};
  return f;
}

plan::RunPlan plan_of(const std::string& optimizer, const std::string& more = "",
                      const facts::Facts& facts = facts_of()) {
  return plan::make_run_plan(
      recipe::parse_recipe("model: {type: gpt2}\n"
                           "data: {type: tokens, train: a.bin, sequence_length: 256}\n"
                           "batch: {global_batch_size: 8, micro_batch_size: 4}\n"
                           "optimizer: {type: " +
                               optimizer + ", lr: 1e-3}\n" + more,
                           "test")
          .recipe,
      facts);
}

std::int64_t bytes_of(const plan::RunPlan& plan, const std::string& category) {
  for (const auto& [name, bytes] : plan.memory.categories)
    if (name == category) return bytes;
  return 0;
}

bool notes(const plan::RunPlan& plan, const std::string& words) {
  return std::ranges::any_of(
      plan.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

constexpr std::int64_t mib = 1 << 20;

}  // namespace

TEST_CASE("a rule has memory of the plan for the weights that it is given at once") {
  const Known known;
  const auto plain = plan_of("adamw"), tensors = plan_of("tensors"), numbers = plan_of("numbers");
  CHECK(tensors.on_gpu);
  CHECK(bytes_of(plain, "optimizer's own tensors") == 0);
  const auto memory = plan::own_rule_memory(tensors, tensors.role());
  CHECK(memory.elements == 2 * mib);
  CHECK(memory.staged_bytes >= 4 * 4 * memory.elements);
  CHECK(memory.rule_bytes >= 32 * memory.elements);
  CHECK(bytes_of(tensors, "optimizer's own tensors") == memory.total());
  CHECK(tensors.memory.library_bytes == plain.memory.library_bytes + memory.total());
  // the host's memory holds what a rule over numbers allocates
  CHECK(plan::own_rule_memory(numbers, numbers.role()).rule_bytes == 0);
  CHECK(bytes_of(numbers, "optimizer's own tensors") >= 3 * 4 * 2 * mib);
  CHECK(notes(numbers, "UpdateTensors"));
  CHECK(plan::expected_kernels(tensors, tensors.role().train.back().graph).update ==
        "own_stage_kernel");
}

TEST_CASE("what was measured of a rule is planned for, and decides how steps are launched") {
  const Known known;
  facts::Facts facts = facts_of();
  facts.own_rule = {.bytes_per_element = 12, .seconds_per_element = 1e-10};
  const auto measured = plan_of("tensors", "", facts);
  const auto memory = plan::own_rule_memory(measured, measured.role());
  CHECK(memory.rule_bytes >= 12 * memory.elements);
  CHECK(memory.rule_bytes < 16 * memory.elements);
  CHECK(measured.rates->update.element_s > 1e-10);
  CHECK(*measured.recipe.run.execution.value == recipe::Execution::graph);
  facts.own_rule->seconds_per_element = 1e-8;
  CHECK(plan_of("tensors", "", facts).time->step_s > measured.time->step_s);
  facts.own_rule->not_captured = "the rule of optimizer 'tensors' calls aten::item";
  const auto eager = plan_of("tensors", "", facts);
  CHECK(*eager.recipe.run.execution.value == recipe::Execution::eager);
  CHECK(notes(eager, "aten::item"));
}

TEST_CASE("a rule that runs on the host takes nothing of the GPU") {
  const Known known;
  facts::Facts facts = facts_of();
  facts.own_rule = {.bytes_per_element = 12, .not_captured = "calls aten::item"};
  const auto plan = plan_of("tensors", "memory: {optimizer_offload: cpu}\n", facts);
  CHECK(bytes_of(plan, "optimizer's own tensors") == 0);
  CHECK(*plan.recipe.run.execution.value == recipe::Execution::graph);
  facts.hardware.gpus.clear();
  CHECK(bytes_of(plan_of("tensors", "", facts), "optimizer's own tensors") == 0);
}

}  // namespace own_rule_test
