// Attention backward for one `Sight` (who sees whom: lengths.cuh) and element type T.
//
// One of these has 14 to 30 kernels; all of them in one file took minutes to compile. So they are
// declared here for the files that choose a sight, and instantiated in backward/, a sight or half
// of one a file: `template struct GroupedBackward<float, Nearby>;`. Only files there include the
// definitions. Without its line there a new sight is an undefined reference to `launch`.
#pragma once
#include "kernels/attention/attention.hpp"

namespace trainx::kernels {

/// Kernels that take as much shared memory as the device has. Defined in attention_backward.cuh.
template <class T, class Sight>
struct AttentionBackward {
  static cudaError_t launch(const T* qkv, Sight sight, const T* out, const float* lse,
                            const T* d_out, T* d_qkv, float* delta, const AttentionSize& size,
                            cudaStream_t stream);
};

/// Kernels that take little shared memory (grouped.cuh). Defined in grouped_backward.cuh.
template <class T, class Sight>
struct GroupedBackward {
  static cudaError_t launch(const T* qkv, Sight sight, const T* out, const float* lse,
                            const T* d_out, T* d_qkv, float* delta, const AttentionSize& size,
                            cudaStream_t stream);
};

}  // namespace trainx::kernels
