#pragma once
#include "core/work_queue.hpp"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trainx {

/// What is written to a file goes there by a thread of its own, in large pieces, so that the next
/// piece is made meanwhile. A file opened with O_DIRECT is written past the page cache, through
/// which a large one would go at a fraction of a fast disk's speed; where the file system takes no
/// such write, and for the end of the file, which is no multiple of a block, O_DIRECT is given up.
class WriteBehind {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{16} << 20, memory_bytes = 2 * piece_bytes;

  /// `fd`: at its beginning, the caller's; must outlive this. What is not written when this ends is
  /// not.
  explicit WriteBehind(int fd);

  /// Takes a copy. Both return an errno, 0 where nothing has failed so far.
  int write(std::span<const std::byte> bytes);
  /// Until all is written. Nothing more may be.
  int finish();

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  struct Piece {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t bytes = 0;
    std::uint64_t written = 0;  // when the queue has done so much, what it held last is
  };
  int write_piece(const std::byte* at, std::size_t bytes) const;
  void hand_over();

  int fd_;
  Piece pieces_[2];
  std::size_t filling_ = 0;
  std::atomic<int> error_ = 0;
  WorkQueue queue_;  // ends before what it works with
};

}  // namespace trainx
