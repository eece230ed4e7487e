#pragma once
#include <cstdint>

namespace trainx::kernels {

/// Counters that a kernel may ask for, and numbers behind them for a meeting (meeting.cuh): 4 KiB
/// and a line.
constexpr std::int64_t fold_counters = 1024, fold_words = fold_counters + 32;

/// Device memory through which the thread blocks of one launch fold their sums, always in the same
/// order, so that repeats are bit-equal. Launches that may run at the same time (on two streams, or
/// as two branches of a graph) need their own.
struct FoldMemory {
  // the bytes that the kernel asks for, 16-byte aligned; may hold anything
  float* partial = nullptr;
  // [fold_words], zero before a launch; it leaves them zero
  std::uint32_t* counters = nullptr;
};

}  // namespace trainx::kernels
