#include "launch/line_reader.hpp"
#include <algorithm>
#include <array>
#include <cerrno>

namespace trainx::launch {
namespace {

constexpr std::size_t longest_line = 16384;  // longer ones are handed out in pieces
constexpr int most_reads = 16;

}  // namespace

void LineReader::hand_out(const Use& use) {
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = begun_.find('\n', begin);
    if (end == std::string::npos && begun_.size() - begin < longest_line) break;
    const std::size_t length =
        std::min(end == std::string::npos ? longest_line : end - begin, longest_line);
    use(std::string_view(begun_).substr(begin, length));
    begin += length + (begin + length == end ? 1 : 0);
  }
  begun_.erase(0, begin);
}

void LineReader::read(const Use& use) {
  std::array<char, 65536> piece{};
  for (int i = 0; i < most_reads && pipe_.is_open(); ++i) {
    const ssize_t n = ::read(pipe_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return finish(use);
    begun_.append(piece.data(), static_cast<std::size_t>(n));
    hand_out(use);
  }
}

void LineReader::finish(const Use& use) {
  std::array<char, 65536> piece{};
  // A process that inherited the pipe may go on writing: a pipe's worth is what its worker can have
  // left.
  for (int i = 0; i < most_reads && pipe_.is_open(); ++i) {
    const ssize_t n = ::read(pipe_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    begun_.append(piece.data(), static_cast<std::size_t>(n));
    hand_out(use);
  }
  pipe_.close();
  if (!begun_.empty()) use(begun_);
  begun_.clear();
}

}  // namespace trainx::launch
