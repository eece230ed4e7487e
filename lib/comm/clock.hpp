// Time as the ranks' watching of each other counts it: never set back, and standing still while the
// machine sleeps.
#pragma once
#include <chrono>

namespace trainx::comm {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

inline Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

/// For poll(): milliseconds from now to `then`, rounded up, at least 0.
inline int poll_ms(Time then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now()).count();
  return left < 0 ? 0 : left > 60'000 ? 60'000 : static_cast<int>(left);
}

/// How often ranks tell each other that they are there.
constexpr auto beat_period = std::chrono::milliseconds(200);
/// Who was away himself for longer than this (a suspended machine, Ctrl-Z of the whole job) cannot
/// tell whether others were silent.
constexpr auto late = std::chrono::seconds(1);
/// Of hang_seconds: silence after which a process counts as stopped, so that it is told before they
/// are over.
constexpr double silent_share = 0.8;

}  // namespace trainx::comm
