// Attention forward for one `Sight` (who sees whom: lengths.cuh) and element type T, compiled in
// forward/ as backward.hpp says.
#pragma once
#include "kernels/attention/attention.hpp"

namespace trainx::kernels {

/// Kernels that take little shared memory (grouped.cuh). Defined in grouped_forward.cuh.
template <class T, class Sight>
struct GroupedForward {
  static cudaError_t launch(const T* qkv, Sight sight, T* out, float* lse,
                            const AttentionSize& size, cudaStream_t stream);
};

}  // namespace trainx::kernels
