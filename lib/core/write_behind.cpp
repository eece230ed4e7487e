#include "core/write_behind.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace trainx {
namespace {

// at least that of any disk: addresses, sizes and positions of direct writes are multiples
constexpr std::size_t block_bytes = 4096;

void give_up_direct(int fd) {
  if (const int flags = ::fcntl(fd, F_GETFL); flags >= 0) ::fcntl(fd, F_SETFL, flags & ~O_DIRECT);
}

bool is_direct(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

}  // namespace

void WriteBehind::Free::operator()(std::byte* p) const { std::free(p); }

WriteBehind::WriteBehind(int fd) : fd_(fd) {
  for (Piece& piece : pieces_) {
    piece.memory.reset(static_cast<std::byte*>(std::aligned_alloc(block_bytes, piece_bytes)));
    if (!piece.memory) throw std::bad_alloc();
  }
}

int WriteBehind::write_piece(const std::byte* at, std::size_t bytes) const {
  while (bytes > 0) {
    const bool direct = is_direct(fd_);
    if (direct && bytes < block_bytes) give_up_direct(fd_);
    const ssize_t n = ::write(
        fd_, at, direct && bytes >= block_bytes ? bytes / block_bytes * block_bytes : bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EINVAL && direct) {
      give_up_direct(fd_);
      continue;
    }
    if (n < 0) return errno;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return 0;
}

void WriteBehind::hand_over() {
  Piece& piece = pieces_[filling_];
  piece.written = queue_.add([this, at = piece.memory.get(), bytes = piece.bytes] {
    // behind a piece that is missing nothing belongs
    if (error_ == 0) error_ = write_piece(at, bytes);
  });
  piece.bytes = 0;
  filling_ ^= 1;
}

int WriteBehind::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    Piece& piece = pieces_[filling_];
    if (piece.bytes == 0) queue_.wait_for(piece.written);
    if (error_ != 0) return error_;
    const std::size_t n = std::min(bytes.size(), piece_bytes - piece.bytes);
    std::memcpy(piece.memory.get() + piece.bytes, bytes.data(), n);
    piece.bytes += n;
    bytes = bytes.subspan(n);
    if (piece.bytes == piece_bytes) hand_over();
  }
  return 0;
}

int WriteBehind::finish() {
  if (pieces_[filling_].bytes > 0) hand_over();
  queue_.wait_for_all();
  return error_;
}

}  // namespace trainx
