#include "core/output_queue.hpp"
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <utility>

namespace trainx {
namespace {

constexpr std::string_view clear_line = "\r\033[K";

std::int64_t lines_of(std::string_view text) { return std::ranges::count(text, '\n'); }

bool is_ready(int fd, int wait_ms) {
  pollfd ready{fd, POLLOUT, 0};
  return ::poll(&ready, 1, wait_ms) > 0;
}

}  // namespace

OutputQueue::OutputQueue(int fd, std::size_t most_bytes, LeftOut left_out)
    : fd_(fd), most_bytes_(most_bytes), left_out_line_(std::move(left_out)) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  socket_ = S_ISSOCK(info.st_mode);
  // O_NONBLOCK belongs to the open file, which other processes share: it is set on one of its own.
  // Where that cannot be opened (another user's pipe), poll() says whether a write may wait.
  if (S_ISFIFO(info.st_mode) || ::isatty(fd) == 1)
    own_ = Descriptor(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(),
                             O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

void OutputQueue::put(std::string_view text) {
  if (text.empty()) return;
  if (!text.ends_with('\n') && pending()) {
    redraw_ = true;
    return;
  }
  std::string whole;
  if (std::exchange(redraw_, false)) whole = clear_line;
  whole += text;
  bytes_ += whole.size();
  waiting_.push_back(std::move(whole));
  leave_out();
}

std::int64_t OutputQueue::unwritten_lines() const {
  std::int64_t lines = left_out_;
  for (const std::string& text : waiting_) lines += lines_of(text);
  return lines;
}

void OutputQueue::leave_out() {
  const auto first = waiting_.begin() + (begun_ > 0 ? 1 : 0);
  auto last = first;
  for (; bytes_ > most_bytes_ && last != waiting_.end() && last + 1 != waiting_.end(); ++last) {
    bytes_ -= last->size();
    left_out_ += lines_of(*last);
  }
  waiting_.erase(first, last);
}

/// Whole lines, so that those of other processes do not come between, and at most PIPE_BUF bytes,
/// which a pipe that is ready takes at once. The line about those left out goes with the one that
/// follows it: a pipe's last bytes would take one such line after the other.
std::string_view OutputQueue::next_piece() {
  std::string_view rest = waiting_.front();
  if (begun_ == 0 && left_out_ > 0) rest = noted_ = left_out_line_(left_out_) + waiting_.front();
  rest.remove_prefix(begun_);
  if (rest.size() <= PIPE_BUF) return rest;
  const std::size_t end = rest.rfind('\n', PIPE_BUF - 1);
  return rest.substr(0, end == std::string_view::npos ? PIPE_BUF : end + 1);
}

void OutputQueue::take(std::size_t written) {
  if (begun_ == 0 && std::exchange(left_out_, 0) > 0) {
    bytes_ += noted_.size() - waiting_.front().size();
    waiting_.front().swap(noted_);
  }
  begun_ += written;
  if (begun_ < waiting_.front().size()) return;
  bytes_ -= waiting_.front().size();
  begun_ = 0;
  waiting_.pop_front();
}

bool OutputQueue::write() {
  bool taken = false;
  while (pending()) {
    if (!own_.is_open() && !is_ready(fd_, 0)) return taken;
    const std::string_view piece = next_piece();
    const ssize_t n = socket_ ? ::send(fd_, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                              : ::write(descriptor(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return taken;
    taken = true;
    if (n <= 0) return forget(), true;  // nobody reads any more, or a disk is full: ends no run
    take(static_cast<std::size_t>(n));
  }
  return taken;
}

bool OutputQueue::finish(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  for (auto end = Clock::now() + patience; pending();) {
    if (write()) end = Clock::now() + patience;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (!pending()) break;
    if (left <= 0) return forget(), false;
    is_ready(descriptor(), static_cast<int>(left));
  }
  return true;
}

void OutputQueue::forget() {
  waiting_.clear();
  bytes_ = begun_ = 0;
  left_out_ = 0;
}

}  // namespace trainx
