// Flags of several hosts from the variables of a pod.
#pragma once
#include "launch/environment.hpp"
#include "launch/launch_flags.hpp"

namespace trainx::launch {

/// The flags; those that are not given come from the variables that a Kubeflow TrainJob with a
/// torch policy sets in each of its pods: PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE,
/// PET_MASTER_ADDR, PET_MASTER_PORT and PET_MAX_RESTARTS. The flags are unchanged if --nnodes is
/// given, if PET_NNODES is not set, or if LOCAL_RANK is set: then torchrun has read the variables
/// and started this process as a rank. Throws UserError 2, with the variable's name.
LaunchFlags with_pod_environment(const Environment& environment, LaunchFlags flags);

}  // namespace trainx::launch
