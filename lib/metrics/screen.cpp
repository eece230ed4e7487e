#include "metrics/screen.hpp"
#include "core/blocked_signals.hpp"
#include "core/output_queue.hpp"
#include "core/process.hpp"
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace trainx::metrics {
namespace {

constexpr std::chrono::seconds patience{2};

std::string left_out_messages(std::int64_t lines) {
  return "(" + std::to_string(lines) +
         " lines are left out here: stderr was not read; the run's log file has them)\n";
}
std::string left_out_data(std::int64_t lines) {
  return R"({"event":"left_out","lines":)" + std::to_string(lines) + "}\n";
}

/// A descriptor that all consoles of the process write to. While lines wait for a slow reader, a
/// thread waits for it.
class Outlet {
 public:
  Outlet(int fd, std::size_t most_bytes, OutputQueue::LeftOut left_out)
      : queue_(fd, most_bytes, std::move(left_out)) {}
  void put(std::string_view text) {
    const std::lock_guard lock(mutex_);
    queue_.put(text);
    queue_.write();
    if (!queue_.pending()) return;
    start_thread();
    behind_.notify_one();
  }
  /// Lines that are lost.
  std::int64_t finish() {
    const std::lock_guard lock(mutex_);
    queue_.write();
    const std::int64_t lines = queue_.unwritten_lines();
    return queue_.finish(patience) ? 0 : lines;
  }

 private:
  void start_thread() {
    if (started_) return;
    const BlockedSignals blocked;
    try {
      std::thread([this] { run(); }).detach();
      started_ = true;
    } catch (const std::system_error&) {
      // none can be had: the next text takes along what waits
    }
  }
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      behind_.wait(lock, [this] { return queue_.pending(); });
      pollfd ready{queue_.descriptor(), POLLOUT, 0};
      lock.unlock();
      ::poll(&ready, 1, -1);
      lock.lock();
      queue_.write();
    }
  }

  std::mutex mutex_;
  std::condition_variable behind_;
  OutputQueue queue_;
  bool started_ = false;
};

/// Outlives every static object: threads may write until the process ends.
Outlet& outlet(int fd) {
  static std::mutex mutex;
  static auto* const outlets = new std::map<int, Outlet*>;
  const std::lock_guard lock(mutex);
  Outlet*& found = (*outlets)[fd];
  if (!found)
    found = fd == STDOUT_FILENO ? new Outlet(fd, std::size_t{16} << 20, left_out_data)
                                : new Outlet(fd, std::size_t{1} << 20, left_out_messages);
  return *found;
}

int terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Screen process_screen(int messages) {
  const std::string terminal = environment_variable("TERM");
  Outlet &data = outlet(STDOUT_FILENO), &said = outlet(messages);
  return {
      [&data](std::string_view text) { data.put(text); },
      [&said](std::string_view text) { said.put(text); },
      ::isatty(messages) == 1 && !terminal.empty() && terminal != "dumb",
      [messages] { return terminal_columns(messages); },
      [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
      },
      [&data, &said] {
        const std::int64_t lost = data.finish();
        said.finish();
        return lost;
      }};
}

}  // namespace trainx::metrics
