#include "gpu/first_fit.hpp"
#include <algorithm>

namespace trainx::gpu {

FirstFit::FirstFit(void* memory, std::int64_t bytes)
    : memory_(static_cast<std::byte*>(memory)), bytes_(bytes / alignment * alignment) {}

/// Calls f(begin, end) of each gap, ascending.
template <class F>
void FirstFit::for_gaps(F f) const {
  std::int64_t begin = 0;
  for (const auto& [offset, bytes] : blocks_) {
    if (offset > begin) f(begin, offset);
    begin = offset + bytes;
  }
  if (bytes_ > begin) f(begin, bytes_);
}

void* FirstFit::take(std::int64_t bytes, std::optional<From> asked) {
  const std::int64_t size = std::max<std::int64_t>(1, (bytes + alignment - 1) / alignment) *
                            alignment;
  const From from = asked.value_or(16 * bytes < bytes_ ? From::end : From::begin);
  std::int64_t at = -1;
  for_gaps([&](std::int64_t begin, std::int64_t end) {
    if (end - begin < size) return;
    if (from == From::end)
      at = end - size;
    else if (at < 0)
      at = begin;
  });
  if (at < 0) return nullptr;
  blocks_[at] = size;
  return memory_ + at;
}

void FirstFit::give(void* block) {
  const auto* p = static_cast<std::byte*>(block);
  if (p >= memory_ && p < memory_ + bytes_) blocks_.erase(p - memory_);
}

std::int64_t FirstFit::largest_gap() const {
  std::int64_t largest = 0;
  for_gaps([&](std::int64_t begin, std::int64_t end) { largest = std::max(largest, end - begin); });
  return largest;
}

std::int64_t FirstFit::used_bytes() const {
  std::int64_t used = 0;
  for (const auto& [offset, bytes] : blocks_) used += bytes;
  return used;
}

}  // namespace trainx::gpu
