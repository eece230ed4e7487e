// What lies on the disk, one part of it at a time in memory.
#pragma once
#include "disk/disk.hpp"
#include <cstdint>
#include <span>

namespace trainx::state {

class DiskWindow {
 public:
  /// `memory`: for the largest part; begins on a block of the disk.
  DiskWindow(disk::Disk* disk = nullptr, std::span<std::byte> memory = {})
      : disk_(disk), memory_(memory) {}
  /// The part as it is. What was seen before is gone, and stored where it was changed.
  const std::byte* view(std::int64_t offset, std::size_t bytes);
  /// The same, to be changed. `anew`: all of it will be written, so that nothing need be read.
  std::byte* edit(std::int64_t offset, std::size_t bytes, bool anew = false);
  void store();
  /// Others have changed the disk or the memory since.
  void forget() { offset_ = -1; }

 private:
  disk::Disk* disk_;
  std::span<std::byte> memory_;
  std::int64_t offset_ = -1, bytes_ = 0;  // of the part that is here; none
  bool changed_ = false;
};

}  // namespace trainx::state
