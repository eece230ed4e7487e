#pragma once
#include "launch/job.hpp"
#include "launch/launch_plan.hpp"

namespace trainx::launch {

/// Tells people something beside the workers' own words.
using Warn = std::function<void(const std::string&)>;

/// Starts the plan's workers, each with the job and its own membership, forwards SIGTERM, SIGHUP,
/// SIGINT, SIGUSR1 and SIGUSR2 to all of them, and returns the exit code of the one that decides. A
/// second SIGINT ends them at once. After failures that may pass, and unless a signal asked for the
/// end, starts all of them again, up to plan.max_restarts times. No worker outlives this call, nor
/// this process, also on kill -9. Throws UserError: 69 a worker cannot be started, 128 + n a signal
/// n ended it.
int run_workers(const Job& job, const LaunchPlan& plan, const Warn& warn);

}  // namespace trainx::launch
