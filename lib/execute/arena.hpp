#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainx::execute {

/// The memory that every planned buffer is a view of: page-aligned, zeroed, owned.
class Arena {
 public:
  explicit Arena(std::int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  /// Gives the whole pages of a part back to the system: they are zero when they are next read.
  void forget(std::span<std::byte> part);

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace trainx::execute
