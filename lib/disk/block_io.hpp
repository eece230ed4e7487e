// Who moves blocks between a file and memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace trainx::disk {

/// All in whole blocks (scratch_file.hpp).
struct Transfer {
  enum Direction : std::uint8_t { read, write } direction = read;
  int file = -1;
  std::int64_t offset = 0;
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;
};

class BlockIo {
 public:
  virtual ~BlockIo() = default;
  /// Returns when all bytes are moved: 0, or the first errno. For one thread at a time.
  virtual int move(const Transfer& transfer) = 0;
  virtual std::string name() const = 0;
};

/// By the kernel's io_uring, with many pieces on their way at a time. Null where the kernel, a
/// container's seccomp profile or a limit refuses it.
std::unique_ptr<BlockIo> make_uring_io(int file);
/// By threads, each with a piece of its own on its way.
std::unique_ptr<BlockIo> make_thread_io();

}  // namespace trainx::disk
