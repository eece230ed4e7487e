#include "state/snapshot.hpp"
#include "tensor/large_memory.hpp"
#include <algorithm>

namespace trainx::state {
namespace {

using program::Space;

/// Calls use(place, bytes) for each resident buffer of the space that is saved.
template <class Use>
void for_residents(const plan::PlacedProgram& placed, Space space, const Use& use) {
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
    if (const program::Buffer& buffer = placed.program.buffers[b];
        buffer.resident && !is_derived(buffer) && buffer.space == space)
      use(placed.placement.base[b], buffer.bytes());
}

program::Bytes end_of_residents(const plan::PlacedProgram& placed, Space space) {
  program::Bytes end = 1;
  for_residents(placed, space,
                [&](program::Bytes at, program::Bytes bytes) { end = std::max(end, at + bytes); });
  return end;
}

}  // namespace

Snapshot::Snapshot(const plan::PlacedProgram& placed, const std::vector<program::StateSpec>& states)
    : placed_(placed),
      arena_(end_of_residents(placed, Space::device)),
      host_(end_of_residents(placed, Space::host)),
      state_(placed, {arena_, host_.data()}, states) {}

const ResidentState& Snapshot::take(const ResidentMemory& residents) {
  for_residents(placed_, Space::device, [&](program::Bytes at, program::Bytes bytes) {
    tensor::copy(arena_.data() + at, residents.base + at, static_cast<std::size_t>(bytes));
  });
  for_residents(placed_, Space::host, [&](program::Bytes at, program::Bytes bytes) {
    tensor::copy(host_.data() + at, residents.host + at, static_cast<std::size_t>(bytes));
  });
  return state_;
}

}  // namespace trainx::state
