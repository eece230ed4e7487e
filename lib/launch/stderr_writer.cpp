#include "launch/stderr_writer.hpp"
#include "core/process.hpp"
#include <limits.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

namespace trainx::launch {

StderrWriter::StderrWriter() {
  const std::string terminal = environment_variable("TERM");
  live_ = ::isatty(STDERR_FILENO) == 1 && !terminal.empty() && terminal != "dumb";
}

void StderrWriter::put(std::string_view line) {
  // Rank 0 draws its status line at the cursor's line, again and again: cleared first, it comes
  // back below.
  if (live_) text_ += "\r\033[K";
  text_.append(line);
  text_ += '\n';
}

void StderrWriter::write() {
  while (!text_.empty()) {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, 0) <= 0) return;
    // Whole lines at a time, so that rank 0's do not mix with them; PIPE_BUF bytes are what a pipe
    // that is ready takes at once.
    const std::size_t end = text_.rfind('\n', PIPE_BUF - 1);
    const std::size_t size =
        end == std::string::npos ? std::min<std::size_t>(text_.size(), PIPE_BUF) : end + 1;
    const ssize_t n = ::write(STDERR_FILENO, text_.data(), size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0)
      text_.clear();  // nobody reads any more, which ends no run
    else
      text_.erase(0, static_cast<std::size_t>(n));
  }
}

}  // namespace trainx::launch
