#include "launch/rank_environment.hpp"
#include "core/error.hpp"
#include "launch/pod_environment.hpp"

namespace trainx::launch {

std::optional<comm::Membership> membership_from_environment(const Environment& environment,
                                                            const LaunchFlags& flags) {
  if (flags.ask_for_workers()) return std::nullopt;
  auto membership = membership_of_torchrun(environment);
  if (!membership) membership = membership_of_slurm(environment);
  if (!membership) membership = membership_of_mpi(environment);
  if (membership && flags.max_restarts)
    throw UserError(ExitCode::usage,
                    "--max-restarts has no effect where " + membership->launcher +
                        " starts the workers: let it restart them, or leave the flag out");
  return membership;
}

std::string starter_of_several(const Environment& environment, const LaunchFlags& flags) {
  const LaunchFlags filled = with_pod_environment(environment, flags);
  if (!flags.nnodes && filled.nnodes.value_or(1) > 1) return "PET_NNODES";
  const auto membership = membership_from_environment(environment, filled);
  return membership && membership->world_size > 1 ? membership->launcher : "";
}

}  // namespace trainx::launch
