#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace trainx::gpu {

/// Blocks of a piece of memory that somebody else owns, which it never touches: device memory will
/// do. For one thread at a time.
class FirstFit {
 public:
  static constexpr std::int64_t alignment = 512;
  FirstFit(void* memory, std::int64_t bytes);

  enum class From : std::uint8_t { begin, end };
  /// In the first gap that is large enough, from whichever end; null where none is. Where that is
  /// left open, pieces of a sixteenth of the memory and more lie at its beginning and smaller ones
  /// at its end, so that these do not settle in gaps that the next large one needs.
  void* take(std::int64_t bytes, std::optional<From> from = {});
  /// What take gave; anything else is left alone.
  void give(void* block);

  std::int64_t blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t largest_gap() const;
  std::int64_t used_bytes() const;

 private:
  template <class F>
  void for_gaps(F f) const;

  std::byte* memory_;
  std::int64_t bytes_;
  std::map<std::int64_t, std::int64_t> blocks_;  // bytes by offset
};

}  // namespace trainx::gpu
