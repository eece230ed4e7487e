#pragma once
#include "passes/passes.hpp"
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Where each group's optimizer lives, by memory.optimizer_offload. The first groups stay on the
/// device, up to `share` of all elements (none if it is auto). Runs before the other choices.
void place_optimizer(Draft& plan);

/// Groups of parameters that are trained.
int trained_groups(const Draft& plan);
/// Of their elements, the share whose optimizer is on the device.
double share_on_device(const Draft& plan);

/// Host bytes that a rank may use: memory.optimizer_offload.host_budget, at most what the machine
/// has; 0: unknown. `budget_bytes`: memory.budget, which is the same memory if there is no GPU.
std::int64_t host_budget(const Draft& plan, std::int64_t budget_bytes);

/// The optimizer's location for each group; of groups that are not trained, which have none, the
/// device, where their weights are.
std::vector<passes::OptimizerLocation> optimizer_locations(
    const Draft& plan, const std::vector<program::GroupSpec>& groups);

/// By group, whether memory.parameter_offload: cpu leaves its weights on the device: frozen ones
/// beside an adapter that the host's memory cannot hold, first those of no layer, then layer by
/// layer from the first. Empty: none.
std::vector<bool> weights_on_device(const Draft& plan,
                                    const program::SharedVector<program::GroupSpec>& groups,
                                    const program::SharedVector<program::BlockSpec>& blocks);
/// The same in words; empty: none.
std::string weights_on_device_words(const Draft& plan, const program::ModelGraph& graph);

/// Whether any group is updated on the host; states on the disk pass through it.
inline bool offloads_optimizer(const Draft& plan) {
  return plan.recipe.memory.optimizer_offload.where != recipe::OptimizerOffload::none;
}
/// Whether gradients go to the host in bf16.
inline bool rounds_gradients(const Draft& plan) {
  return plan.recipe.memory.optimizer_offload.gradients == recipe::OffloadedGradients::bf16;
}
/// Whether optimizer states or weights are kept in a file.
inline bool uses_disk(const Draft& plan) { return recipe::uses_disk(plan.recipe.memory); }
inline bool offloads_weights(const Draft& plan) {
  return plan.recipe.memory.parameter_offload != recipe::ParameterOffload::none;
}
inline bool weights_on_disk(const Draft& plan) {
  return plan.recipe.memory.parameter_offload == recipe::ParameterOffload::disk;
}

}  // namespace trainx::plan
