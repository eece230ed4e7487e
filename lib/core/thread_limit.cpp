#include "core/thread_limit.hpp"
#include "core/blocked_signals.hpp"
#include <latch>
#include <thread>
#include <vector>

namespace trainx {

void require_threads(std::int64_t count) {
  const BlockedSignals held;
  std::latch enough(1);
  std::vector<std::jthread> threads;
  try {
    for (std::int64_t i = 0; i < count; ++i) threads.emplace_back([&enough] { enough.wait(); });
  } catch (const std::system_error&) {
    enough.count_down();
    throw;
  }
  enough.count_down();
}

}  // namespace trainx
