#include "launch/run_workers.hpp"
#include "core/error.hpp"
#include "core/memory_limit.hpp"
#include "core/process.hpp"
#include "core/units.hpp"
#include "launch/worker_group.hpp"
#include <sys/wait.h>
#include <algorithm>
#include <cerrno>

namespace trainx::launch {
namespace {

const std::string resume = "; the same command goes on from the newest checkpoint";

constexpr int cannot_load = 127;  // of the dynamic loader

/// The run's exit code, or a sentence where the worker had no time for one.
int result_of(const RankEnd* end, const LaunchPlan& plan) {
  if (!end) return 0;
  const auto limit = memory_limit();
  if (!end->begun && end->exit_code() >= cannot_load && limit)
    throw UserError(ExitCode::out_of_memory,
                    "the worker could not load its libraries, and memory is limited to " +
                        human_bytes(*limit) +
                        "; raise the limit (ulimit -v, ulimit -d), or remove it");
  if (end->exit_code() == cannot_load)
    throw UserError(ExitCode::unavailable,
                    "trainx-worker found no LibTorch, or lacks another library (named above); "
                    "install torch 2.11.0 beside trainx, or set "
                    "TRAINX_TORCH_DIR to the folder of torch: python3 -c 'import torch; "
                    "print(torch.__path__[0])'");
  if (!end->by_signal()) return end->exit_code();
  const int signal = WTERMSIG(end->status);
  throw UserError(
      static_cast<ExitCode>(128 + signal),
      (plan.first.world_size > 1 ? "the worker of " + words_of(*end)
                                 : "the worker was ended by signal " + std::to_string(signal) +
                                       " (" + signal_name(signal) + ")") +
          (signal == SIGKILL ? ", which is also how the kernel ends a process when memory runs out"
                             : "") +
          resume);
}

void tell_of_forced(const WorkerGroup& group, const Warn& warn) {
  for (const RankEnd& end : group.ends())
    if (end.was_stopped)
      warn("rank " + std::to_string(end.rank) +
           " was stopped and could not end by itself; it was killed");
    else if (end.by_launcher && !group.interrupted_twice())
      warn("rank " + std::to_string(end.rank) + " had not ended " +
           std::to_string(WorkerGroup::own_time.count()) + " s after the failure; " +
           (end.exit_code() == 128 + SIGKILL ? "it was killed" : "SIGTERM ended it"));
}

/// Lets devices and ports of those that were killed come free. False: a signal asks for the end;
/// `asked` is its number.
bool pause_before_restart(const HeldSignals& held, int& asked) {
  const timespec pause{1, 0};
  for (;;) {
    const int signal = ::sigtimedwait(&held.waited(), nullptr, &pause);
    if (signal < 0 && errno == EAGAIN) return true;
    if (signal != SIGTERM && signal != SIGHUP && signal != SIGINT && signal != SIGUSR1) continue;
    asked = signal;
    return false;
  }
}

int code_of_request(int signal) {
  return signal == SIGUSR1 ? static_cast<int>(ExitCode::stopped_early) : 128 + signal;
}

}  // namespace

int run_workers(const Job& job, const LaunchPlan& plan, const Warn& warn) {
  const HeldSignals held;
  for (int restart = 1;; ++restart) {
    WorkerGroup group(job, plan, held);
    group.wait();
    tell_of_forced(group, warn);
    if (group.interrupted_twice())
      throw UserError(static_cast<ExitCode>(128 + SIGINT),
                      "interrupted twice: ended at once" + resume);
    const RankEnd* const end = decisive_end(group.ends());
    const bool again = end && may_pass(*end) && !group.asked_to_end() &&
                       restart <= plan.max_restarts;
    if (!again) return result_of(end, plan);
    warn("restart " + std::to_string(restart) + " of " + std::to_string(plan.max_restarts) + ": " +
         words_of(*end) + "; all workers start again from the newest checkpoint");
    if (int asked = 0; !pause_before_restart(held, asked)) return code_of_request(asked);
  }
}

int run_worker(const Job& job) {
  return run_workers(job, {}, [](const std::string&) {});
}

}  // namespace trainx::launch
