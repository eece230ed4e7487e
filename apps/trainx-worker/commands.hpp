#pragma once
#include "core/error.hpp"
#include "launch/job.hpp"
#include "metrics/console.hpp"
#include "plan/run_plan.hpp"

namespace trainx::train {
class LoopChannel;
}

namespace trainx::worker {

/// Each returns the exit code, or throws what main prints.
/// `loop`: of the user's own, which has control between steps; null: there is none.
int train(const launch::Job& job, metrics::Console& console, train::LoopChannel* loop = nullptr);
int evaluate(const launch::Job& job, metrics::Console& console);
int generate(const launch::Job& job, metrics::Console& console);
int doctor_hosts(const launch::Job& job);
int bench_step(const launch::Job& job);
int bench_memory_anatomy(const launch::Job& job);
int bench_operations(const launch::Job& job);

/// What an exception that leaves a command means: UserError its own code, memory that the machine
/// refused 71, anything else a bug.
ExitCode exit_code_of(const std::exception& e);
/// What the whole run ends with: where another rank failed first, that rank's code.
ExitCode cause_of(const std::exception& e);

/// What people are told of it.
std::string sentence_of(const std::exception& e);

/// Tells the user, and returns the exit code.
int report_error(const std::exception& e, metrics::Console& console);

/// The launcher's plan, made again from the same recipe and facts. InternalError if it is not the
/// same: the two binaries are of different builds.
plan::RunPlan plan_of(const launch::Job& job, const recipe::Recipe& recipe);

/// The folder that a command reads weights from: a checkpoint of the run (the newest valid one), or
/// the folder itself where it is a model's. Throws UserError 66.
std::string weights_folder(const launch::Job& job);

}  // namespace trainx::worker
