// Binds a host's workers to cores.
#pragma once
#include "facts/facts.hpp"
#include "launch/launch_plan.hpp"

namespace trainx::launch {

/// Fills in plan.cores as facts::binding_of_host decides for the ranks of this host. `gpus`: those
/// that they compute on; empty: CPUs.
void bind_workers(LaunchPlan& plan, const std::vector<facts::Gpu>& gpus);

}  // namespace trainx::launch
