#include "plan/duties.hpp"

namespace trainx::plan {

std::vector<Duties> duties_of(const Draft& plan) {
  std::vector<Duties> roles(1);
  // replicas compute with the weights and batches that rank 0 sends them
  if (plan.mode == recipe::ParallelMode::dp && plan.mesh.world > 1)
    roles.push_back({.first_rank = 1,
                     .reads_batches = false,
                     .has_loss = false,
                     .keeps_weights = false,
                     .evaluates = false});
  for (int stage = 1; stage < plan.mesh.pipeline; ++stage)
    roles.push_back({.first_rank = stage * plan.mesh.stage_ranks(), .stage = stage});
  return roles;
}

}  // namespace trainx::plan
