#include "metrics/screen.hpp"
#include "core/process.hpp"
#include <sys/ioctl.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>

namespace trainx::metrics {
namespace {

// One system call a message, so that lines of several processes do not mix. A reader that went away
// is no reason to end a run.
void write_to(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

int terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Screen process_screen(int messages) {
  const std::string terminal = environment_variable("TERM");
  return {
      [](std::string_view text) { write_to(STDOUT_FILENO, text); },
      [messages](std::string_view text) { write_to(messages, text); },
      ::isatty(messages) == 1 && !terminal.empty() && terminal != "dumb",
      [messages] { return terminal_columns(messages); },
      [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
      }};
}

}  // namespace trainx::metrics
