#pragma once
#include <cstdint>

namespace trainx::kernels {

constexpr std::int64_t fold_counters = 1024;  // 4 KiB

/// Device memory through which the thread blocks of one launch fold their sums, always in the same
/// order, so that repeats are bit-equal. Launches that may run at the same time (on two streams, or
/// as two branches of a graph) need their own.
struct FoldMemory {
  // the bytes that the kernel asks for, 16-byte aligned; may hold anything
  float* partial = nullptr;
  // [fold_counters], zero before a launch; it leaves them zero
  std::uint32_t* counters = nullptr;
};

}  // namespace trainx::kernels
