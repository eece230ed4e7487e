#include "facts/disk_speed.hpp"
#include "core/blocked_signals.hpp"
#include "core/descriptor.hpp"
#include "core/files.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>

namespace trainx::facts {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = std::size_t{8} << 20, page_bytes = 4096;
constexpr int pieces_a_sync = 4;  // a slow disk's page cache does not run far ahead of it

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A file in `folder` that has no name; -1, with errno.
int open_nameless(const std::string& folder) {
  if (const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); fd >= 0)
    return fd;
  // file systems that lack it (NFS) say one of these
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT) return -1;
  // that end this process between the making of a name and its removal
  const BlockedSignals held;
  std::string name = folder + "/.trainx-doctor-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return fd;
}

struct FreePiece {
  void operator()(std::byte* p) const { std::free(p); }
};
using Piece = std::unique_ptr<std::byte, FreePiece>;

/// Nothing that a file system could compress.
Piece random_piece() {
  // O_DIRECT wants whole pages
  Piece piece(static_cast<std::byte*>(std::aligned_alloc(page_bytes, piece_bytes)));
  if (!piece) return piece;
  std::uint64_t x = 0x9E3779B97F4A7C15;
  for (std::uint64_t& word : std::span(reinterpret_cast<std::uint64_t*>(piece.get()),
                                       piece_bytes / sizeof(std::uint64_t))) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;  // xorshift64 (Marsaglia 2003)
    word = x;
  }
  return piece;
}

/// Makes each page of the piece another than in the pieces before, for file systems that store
/// equal pages once.
void make_different(std::byte* piece, std::uint64_t number) {
  for (std::size_t at = 0; at < piece_bytes; at += page_bytes)
    *reinterpret_cast<std::uint64_t*>(piece + at) ^= (number + 1) * 0x9E3779B97F4A7C15;
}

/// Calls transfer(done) for the next bytes, which says how many it moved, until `bytes` are done or
/// 0 is; false, with errno, after a failure.
template <class Transfer>
bool move_all(std::size_t bytes, const Transfer& transfer) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = transfer(done);
    if (n == 0) errno = EIO;
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}

/// Returns the bytes written; fewer than a piece after a failure.
std::int64_t write_pieces(int fd, std::byte* piece, std::int64_t bytes, double seconds,
                          DiskSpeed& speed) {
  const auto begin = Clock::now();
  std::int64_t written = 0;
  bool fine = true;
  for (std::uint64_t number = 0; fine && written < bytes && seconds_since(begin) < seconds;
       ++number) {
    make_different(piece, number);
    fine = move_all(piece_bytes, [&](std::size_t done) {
      return ::pwrite(fd, piece + done, piece_bytes - done,
                      written + static_cast<std::int64_t>(done));
    });
    if (fine) written += static_cast<std::int64_t>(piece_bytes);
    if (fine && number % pieces_a_sync == pieces_a_sync - 1) fine = ::fdatasync(fd) == 0;
  }
  if (!fine || ::fdatasync(fd) != 0) {
    speed.failed = true;
    speed.problem = "writing failed: " + errno_words(errno);
    return 0;
  }
  speed.write_bytes_per_second = static_cast<double>(written) / seconds_since(begin);
  return written;
}

void read_pieces(int fd, std::byte* piece, std::int64_t bytes, double seconds, DiskSpeed& speed) {
  const int flags = ::fcntl(fd, F_GETFL);
  speed.direct = ::fcntl(fd, F_SETFL, flags | O_DIRECT) == 0 &&
                 ::pread(fd, piece, page_bytes, 0) == static_cast<ssize_t>(page_bytes);
  if (!*speed.direct) {
    ::fcntl(fd, F_SETFL, flags);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);  // else the page cache would be read
  }
  const auto begin = Clock::now();
  std::int64_t read = 0;
  while (read < bytes && seconds_since(begin) < seconds) {
    if (!move_all(piece_bytes, [&](std::size_t done) {
          return ::pread(fd, piece + done, piece_bytes - done,
                         read + static_cast<std::int64_t>(done));
        })) {
      speed.failed = true;
      speed.problem = "reading failed: " + errno_words(errno);
      return;
    }
    read += static_cast<std::int64_t>(piece_bytes);
  }
  speed.read_bytes_per_second = static_cast<double>(read) / seconds_since(begin);
}

}  // namespace

DiskSpeed measure_disk(const std::string& folder, std::int64_t bytes, double seconds) {
  DiskSpeed speed;
  const Descriptor file(open_nameless(folder));
  if (file.get() < 0) {
    speed.problem = "no file can be made there: " + errno_words(errno);
    return speed;
  }
  speed.writable = true;
  if (bytes < static_cast<std::int64_t>(piece_bytes)) {
    speed.problem = "too little is free to measure its speed";
    return speed;
  }
  const Piece piece = random_piece();
  if (!piece) {
    speed.problem = "no memory is left to measure its speed";
    return speed;
  }
  if (const std::int64_t written = write_pieces(file.get(), piece.get(), bytes, seconds, speed);
      written > 0)
    read_pieces(file.get(), piece.get(), written, seconds, speed);
  return speed;
}

}  // namespace trainx::facts
