#include "train/snapshot.hpp"
#include <ATen/Parallel.h>
#include <algorithm>
#include <cstring>

namespace trainx::train {
namespace {

/// Calls use(place, bytes) for each resident buffer.
template <class Use>
void for_residents(const plan::PlacedProgram& placed, const Use& use) {
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
    if (placed.program.buffers[b].resident) use(placed.placement.base[b], placed.program.buffers[b].size);
}

program::Bytes end_of_residents(const plan::PlacedProgram& placed) {
  program::Bytes end = 1;
  for_residents(placed, [&](program::Bytes at, program::Bytes bytes) { end = std::max(end, at + bytes); });
  return end;
}

void copy_bytes(std::byte* to, const std::byte* from, program::Bytes bytes) {
  constexpr std::int64_t grain = std::int64_t{1} << 20;
  at::parallel_for(0, bytes, grain, [&](std::int64_t begin, std::int64_t end) { std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin)); });
}

}  // namespace

Snapshot::Snapshot(const plan::PlacedProgram& placed, const std::vector<program::StateSpec>& states) : placed_(placed), arena_(end_of_residents(placed)), state_(placed, arena_, states) {}

const ResidentState& Snapshot::take(const Arena& residents) {
  for_residents(placed_, [&](program::Bytes at, program::Bytes bytes) { copy_bytes(arena_.data() + at, residents.data() + at, bytes); });
  return state_;
}

}  // namespace trainx::train
