#include "plan/execution.hpp"
#include "core/error.hpp"
#include "plan/own_rule.hpp"

namespace trainx::plan {

std::string why_eager(const Draft& plan) {
  if (!plan.on_gpu) return {};
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  const std::string of_modules = custom ? custom->not_captured() : "";
  return of_modules.empty() ? own_rule_not_captured(plan) : of_modules;
}

void choose_execution(Draft& plan) {
  auto& execution = plan.recipe.run.execution;
  if (!plan.on_gpu && !execution.is_auto() && *execution.value == recipe::Execution::graph)
    throw UserError(ExitCode::invalid_recipe,
                    "run.execution is graph, which only a GPU replays, and this run computes on "
                    "the CPU; write auto");
  // code of the user's own may do what a graph cannot hold
  const std::string why = why_eager(plan);
  if (why.empty()) {
    if (execution.is_auto())
      execution.value = plan.on_gpu ? recipe::Execution::graph : recipe::Execution::eager;
    return;
  }
  if (execution.is_auto())
    plan.notes.push_back("run.execution auto takes eager: " + why);
  else if (*execution.value == recipe::Execution::graph)
    throw UserError(ExitCode::invalid_recipe,
                    "run.execution is graph, and " + why + "; write auto or eager");
  execution.value = recipe::Execution::eager;
}

}  // namespace trainx::plan
