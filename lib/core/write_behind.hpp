#pragma once
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

namespace trainx {

/// What is written to a file goes there by a thread of its own, in large pieces, so that the next piece is made meanwhile. A file opened with O_DIRECT is written past the page cache, through which
/// a large one would go at a fraction of a fast disk's speed; where the file system takes no such write, and for the end of the file, which is no multiple of a block, O_DIRECT is given up.
class WriteBehind {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{16} << 20, memory_bytes = 2 * piece_bytes;

  /// `fd`: at its beginning, the caller's; must outlive this.
  explicit WriteBehind(int fd);
  /// What is not written by then is not.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// Takes a copy. Both return an errno, 0 where nothing has failed so far.
  int write(std::span<const std::byte> bytes);
  /// Until all is written. Nothing more may be.
  int finish();

 private:
  struct Free { void operator()(std::byte* p) const; };
  struct Piece {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t bytes = 0;
    bool full = false;                  // to be written; guarded by the mutex
  };
  void run();
  int write_piece(const std::byte* at, std::size_t bytes) const;
  void hand_over();

  int fd_;
  Piece pieces_[2];
  std::size_t filling_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int error_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace trainx
