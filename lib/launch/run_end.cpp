#include "launch/run_end.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include <sys/wait.h>
#include <csignal>

namespace trainx::launch {
namespace {

constexpr auto cause_may_follow = std::chrono::seconds(2);

bool is(int code, ExitCode which) { return code == static_cast<int>(which); }
/// Saved and ended as a signal asked for.
bool stopped(int code) {
  return is(code, ExitCode::stopped_early) || code == 128 + SIGTERM || code == 128 + SIGHUP ||
         code == 128 + SIGINT;
}
bool tells_of_others(const RankEnd& end) {
  return is(end.exit_code(), ExitCode::peer_lost) || is(end.exit_code(), ExitCode::hang);
}

}  // namespace

bool RankEnd::by_signal() const { return WIFSIGNALED(status); }
int RankEnd::exit_code() const {
  return by_signal() ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
bool RankEnd::failed() const { return exit_code() != 0 && (by_signal() || !stopped(exit_code())); }

const RankEnd* decisive_end(std::span<const RankEnd> ends) {
  const RankEnd *first = nullptr, *stop = nullptr;
  for (const RankEnd& end : ends) {
    if (end.by_launcher) continue;
    if (!first && end.failed()) first = &end;
    if (!stop && end.exit_code() != 0) stop = &end;
  }
  if (!first) return stop;
  if (!tells_of_others(*first)) return first;
  for (const RankEnd& end : ends)
    if (end.failed() && !end.by_launcher && !tells_of_others(end) &&
        end.at - first->at <= cause_may_follow)
      return &end;
  return first;
}

bool may_pass(const RankEnd& end) {
  const int code = end.exit_code();
  if (!end.failed()) return false;
  // by signal, or a script in the worker's place that tells so
  if (code > 128) return true;
  return is(code, ExitCode::unavailable) || is(code, ExitCode::io_error) || tells_of_others(end);
}

std::string words_of(const RankEnd& end) {
  const std::string rank = "rank " + std::to_string(end.rank);
  if (!end.by_signal()) return rank + " ended with " + std::to_string(end.exit_code());
  return rank + " was ended by signal " + std::to_string(WTERMSIG(end.status)) + " (" +
         signal_name(WTERMSIG(end.status)) + ")";
}

}  // namespace trainx::launch
