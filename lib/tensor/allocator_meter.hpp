// Counts what ATen allocates on the CPU outside the arena.
#pragma once
#include <cstdint>

namespace trainx::tensor {

struct AllocatorBytes {
  std::int64_t current = 0, peak = 0, allocations = 0;
};

/// Wraps c10's CPU allocator, once for the process; what was allocated before is not counted.
/// Thread-safe.
void install_allocator_meter();
/// Since it was installed, the peak since the last reset.
AllocatorBytes allocator_bytes();
void reset_allocator_peak();

}  // namespace trainx::tensor
