// Memory that processes of one host share and that has no name: it is gone with the last of them,
// however they end.
#pragma once
#include "comm/control.hpp"
#include "core/descriptor.hpp"
#include <cstddef>
#include <optional>

namespace trainx::comm {

class SharedSegment {
 public:
  /// Made by rank 0, found by the others behind its descriptor in /proc. Called by all ranks.
  /// Nothing, on all, where one of them cannot reach it (another container, say); `why` says who
  /// and why. The memory begins zeroed.
  static std::optional<SharedSegment> make(Control& control, std::size_t bytes, std::string& why);
  SharedSegment(SharedSegment&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  SharedSegment& operator=(SharedSegment&&) = delete;
  ~SharedSegment();
  std::byte* data() const { return memory_; }

 private:
  SharedSegment(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  std::byte* memory_;
  std::size_t bytes_;
};

}  // namespace trainx::comm
