#include "plan/explain/saved_by_levers.hpp"
#include "plan/choose/offload.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"

namespace trainx::plan {

std::vector<std::pair<std::string, std::int64_t>> saved_by_levers(const RunPlan& plan) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  // each comparison plans the whole run again
  if (layers_of(plan.dims) > most_compared_layers) return out;
  const auto compare = [&](const std::string& name, const auto& take_away) {
    Draft without = plan;
    take_away(without.recipe);
    const Programs programs = plan_programs(without, Extent::bytes);
    out.emplace_back(
        name, plan_memory_totals(without, programs).total_bytes() - plan.memory.total_bytes());
  };
  if (plan.recipe.optimizer.update_in_backward)
    compare("update in backward",
            [](recipe::Recipe& r) { r.optimizer.update_in_backward = false; });
  const recipe::MemorySection& memory = plan.recipe.memory;
  if (plan.on_gpu && offloads_optimizer(plan))
    compare("optimizer offload", [](recipe::Recipe& r) {
      r.memory.optimizer_offload.where = recipe::OptimizerOffload::none;
    });
  if (plan.on_gpu && offloads_weights(plan))
    compare("parameter offload",
            [](recipe::Recipe& r) { r.memory.parameter_offload = recipe::ParameterOffload::none; });
  if (plan.on_gpu && memory.activation_offload != recipe::ActivationOffload::none)
    compare("activation offload", [](recipe::Recipe& r) {
      r.memory.activation_offload = recipe::ActivationOffload::none;
    });
  return out;
}

}  // namespace trainx::plan
