// The workers of one launcher, from their start until none is left.
#pragma once
#include "core/descriptor.hpp"
#include "launch/launcher_guard.hpp"
#include "launch/run_end.hpp"
#include "launch/worker_output.hpp"
#include "launch/worker_process.hpp"
#include <optional>
#include <vector>

namespace trainx::launch {

class WorkerGroup {
 public:
  using Clock = std::chrono::steady_clock;
  // When one has failed, the others hear of it from their peers and have this long to end by
  // themselves; then they are asked, then made to.
  static constexpr auto own_time = std::chrono::seconds(10),
                        time_after_term = std::chrono::seconds(2);
  // One that was stopped (SIGSTOP, a debugger that went away) neither ends by itself nor tells
  // anybody. It is killed at once when another has failed, and else so long after run.hang_limit:
  // then the ranks of other launchers have given it up. So is this process, if it is stopped.
  static constexpr auto time_after_hang = std::chrono::seconds(5);

  /// Starts them. Throws UserError 69: one cannot be started; then none is left.
  WorkerGroup(const Job& job, const LaunchPlan& plan, const HeldSignals& held);
  ~WorkerGroup();  // kills whoever is left
  WorkerGroup(const WorkerGroup&) = delete;

  /// Waits until all have ended, forwarding each signal once to all of them. Suspending the
  /// launcher (Ctrl-Z) suspends the workers.
  void wait();

  const std::vector<RankEnd>& ends() const { return ends_; }  // in the order in which they came
  bool interrupted_twice() const { return interrupted_twice_; }
  /// A signal that asks for the run's end was forwarded.
  bool asked_to_end() const { return asked_to_end_; }

 private:
  struct Worker {
    WorkerProcess process;
    int rank;
    bool lives = true;
    std::optional<Clock::time_point> stopped = {};  // since then
    bool killed_stopped = false, hung = false;      // hung: nobody failed before it
  };
  void send(int signal);
  void kill_groups();
  void suspend();
  void forward(int signal);
  void forward_all();
  void collect_ended();
  void note_stops();
  /// When a stopped worker is killed; Time::max(): never.
  Clock::time_point end_of_stop(const Worker& worker) const;
  void press_on(Clock::time_point now);  // those whom another's failure should have ended
  bool any_lives() const;
  void sleep();
  int milliseconds_until_due(Clock::time_point now) const;

  std::chrono::duration<double> most_stopped_;  // 0: no limit
  std::vector<Worker> workers_;
  std::optional<LauncherGuard> guard_;  // once all workers are there
  WorkerOutput output_;
  Descriptor signals_;  // readable when one of the held signals is there
  std::vector<RankEnd> ends_;
  std::optional<Clock::time_point> interrupted_, failed_;
  bool interrupted_twice_ = false, asked_to_end_ = false, termed_ = false, killed_ = false;
};

}  // namespace trainx::launch
