#include "launch/worker_group.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "launch/meeting_point.hpp"
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <algorithm>
#include <cerrno>
#include <climits>

namespace trainx::launch {
namespace {

// `timeout` and some job managers signal a process and then its group: the same SIGINT within this
// time is one request, not two.
constexpr auto one_request = std::chrono::milliseconds(100);

/// Of a worker or this process, from run.hang_limit; 0: no limit.
std::chrono::duration<double> longest_stop(const LaunchPlan& plan) {
  if (plan.first.world_size == 1 || plan.hang_seconds <= 0) return {};
  return std::chrono::duration<double>(plan.hang_seconds) + WorkerGroup::time_after_hang;
}

}  // namespace

WorkerGroup::WorkerGroup(const Job& job, const LaunchPlan& plan, const HeldSignals& held)
    : most_stopped_(longest_stop(plan)),
      output_(job, plan),
      signals_(::signalfd(-1, &held.waited(), SFD_CLOEXEC | SFD_NONBLOCK)) {
  if (!signals_.is_open())
    throw UserError(ExitCode::unavailable, "signals cannot be waited for: " + errno_words(errno) +
                                               "; raise the limit of open files (ulimit -n)");
  MeetingPoint point;
  LaunchPlan ranks = plan;
  if (plan.first.world_size > 1 && plan.owns_all()) {
    point = make_meeting_point();
    ranks.first.port = point.port;
    ranks.first.secret = point.secret;
  }
  const std::string path = worker_path();
  try {
    for (int i = 0; i < plan.workers; ++i) {
      Job its = job;
      its.membership = ranks.membership(i);
      if (!plan.cores.empty()) its.cores = plan.cores[static_cast<std::size_t>(i)];
      WorkerFiles files = output_.files(i);
      if (its.membership.rank == 0) files.listener = point.listener.get();
      workers_.push_back(
          {start_worker(path, std::move(its), files, held), ranks.membership(i).rank});
    }
  } catch (const UserError&) {
    kill_groups();  // a destructor does not follow
    throw;
  }
  guard_.emplace(most_stopped_);
  output_.started();
}

WorkerGroup::~WorkerGroup() { kill_groups(); }

void WorkerGroup::kill_groups() {
  for (Worker& w : workers_) {
    if (!w.lives) continue;
    ::kill(-w.process.id, SIGKILL);
    while (::waitpid(w.process.id, nullptr, 0) < 0 && errno == EINTR) continue;
    w.lives = false;
  }
}

bool WorkerGroup::any_lives() const { return std::ranges::any_of(workers_, &Worker::lives); }

void WorkerGroup::send(int signal) {
  for (const Worker& w : workers_)
    if (w.lives) ::kill(w.process.id, signal);
}

void WorkerGroup::suspend() {
  send(SIGSTOP);
  guard_->send(SIGSTOP);
  ::raise(SIGSTOP);  // until somebody sends SIGCONT
  guard_->send(SIGCONT);
  send(SIGCONT);
  for (Worker& w : workers_) w.stopped.reset();
}

void WorkerGroup::forward(int signal) {
  if (signal == SIGCHLD) return;
  if (signal == SIGTSTP) return suspend();
  if (signal == SIGINT && interrupted_) {
    if (Clock::now() - *interrupted_ < one_request) return;
    interrupted_twice_ = true;
    return send(SIGKILL);
  }
  if (signal == SIGINT) interrupted_ = Clock::now();
  asked_to_end_ = asked_to_end_ || signal != SIGUSR2;
  send(signal);
}

void WorkerGroup::forward_all() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal))
    forward(static_cast<int>(signal.ssi_signo));
}

void WorkerGroup::collect_ended() {
  for (Worker& w : workers_) {
    siginfo_t seen{};
    if (!w.lives || (::waitid(P_PID, static_cast<id_t>(w.process.id), &seen,
                              WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     seen.si_pid == 0))
      continue;
    // What it started and left behind ends with it, while the number of its group is still its own.
    // A worker alone keeps to what it always did.
    if (workers_.size() > 1) ::kill(-w.process.id, SIGKILL);
    RankEnd end{w.rank,           0,
                Clock::now(),     !w.hung && (w.killed_stopped || termed_ || interrupted_twice_),
                w.killed_stopped, w.process.has_begun()};
    while (::waitpid(w.process.id, &end.status, 0) < 0)
      if (errno != EINTR) throw InternalError("waiting for the worker failed");
    if (w.hung) end.status = W_EXITCODE(static_cast<int>(ExitCode::hang), 0);
    w.lives = false;
    if (end.failed() && !failed_) failed_ = end.at;
    ends_.push_back(end);
  }
}

void WorkerGroup::note_stops() {
  for (Worker& w : workers_) {
    siginfo_t seen{};
    while (w.lives &&
           ::waitid(P_PID, static_cast<id_t>(w.process.id), &seen,
                    WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
           seen.si_pid != 0) {
      w.stopped.reset();
      if (seen.si_code == CLD_STOPPED) w.stopped = Clock::now();
      seen = {};
    }
  }
}

WorkerGroup::Clock::time_point WorkerGroup::end_of_stop(const Worker& w) const {
  if (!w.lives || !w.stopped || w.killed_stopped) return Clock::time_point::max();
  if (failed_) return *failed_;
  if (most_stopped_.count() <= 0) return Clock::time_point::max();
  return *w.stopped + std::chrono::duration_cast<Clock::duration>(most_stopped_);
}

void WorkerGroup::press_on(Clock::time_point now) {
  for (Worker& w : workers_) {
    if (now < end_of_stop(w)) continue;
    w.killed_stopped = true;
    w.hung = !failed_;
    ::kill(-w.process.id, SIGKILL);
  }
  if (!failed_) return;
  if (!termed_ && now >= *failed_ + own_time) {
    termed_ = true;
    send(SIGTERM);
  }
  if (!killed_ && now >= *failed_ + own_time + time_after_term) {
    killed_ = true;
    send(SIGKILL);
  }
}

int WorkerGroup::milliseconds_until_due(Clock::time_point now) const {
  Clock::time_point due = output_.due(now);
  for (const Worker& w : workers_) due = std::min(due, end_of_stop(w));
  if (failed_ && !killed_)
    due =
        std::min(due, *failed_ + own_time + (termed_ ? time_after_term : std::chrono::seconds(0)));
  if (due == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

void WorkerGroup::sleep() {
  std::vector<pollfd> waited{{signals_.get(), POLLIN, 0}};
  output_.add_to(waited);
  if (::poll(waited.data(), waited.size(), milliseconds_until_due(Clock::now())) < 0 &&
      errno != EINTR)
    throw InternalError("waiting for the workers failed: " + errno_words(errno));
}

void WorkerGroup::wait() {
  for (;;) {
    collect_ended();
    if (!any_lives()) break;
    sleep();
    forward_all();
    note_stops();
    output_.relay(Clock::now());
    press_on(Clock::now());
  }
  output_.finish();
  // a reader that is slow; interrupting a second time leaves it
  while (output_.pending(Clock::now()) && !interrupted_twice_) {
    sleep();
    forward_all();
    output_.relay(Clock::now());
  }
}

}  // namespace trainx::launch
