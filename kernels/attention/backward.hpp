// Attention backward for one `Sight` (who sees whom: lengths.cuh) and element type T.
//
// One of these has 14 to 30 kernels, and all of them in one file took minutes to compile. The files
// that choose a sight therefore see declarations alone. Each file in the folders of backward/
// instantiates some of them (`template struct GroupedBackward<float, Nearby>;`), and only those
// files include the definitions. A new sight without such a line is an undefined reference to
// `launch`.
#pragma once
#include "kernels/attention/attention.hpp"

namespace trainx::kernels {

/// Gradients of queries, behind `delta`. The kernels of both passes take as much shared memory as
/// the device has. Defined in attention_backward.cuh.
template <class T, class Sight>
struct QueryPass {
  static cudaError_t launch(const T* qkv, Sight sight, const T* out, const float* lse,
                            const T* d_out, T* d_qkv, float* delta, const AttentionSize& size,
                            cudaStream_t stream);
};
/// Gradients of keys and values, of `delta`.
template <class T, class Sight>
struct KeyValuePass {
  static cudaError_t launch(const T* qkv, Sight sight, const float* lse, const T* d_out, T* d_qkv,
                            const float* delta, const AttentionSize& size, cudaStream_t stream);
};
/// Both passes.
template <class T, class Sight>
cudaError_t launch_passes(const T* qkv, Sight sight, const T* out, const float* lse, const T* d_out,
                          T* d_qkv, float* delta, const AttentionSize& size, cudaStream_t stream) {
  if (size.batch * size.tokens * size.heads == 0) return cudaSuccess;
  if (const cudaError_t error =
          QueryPass<T, Sight>::launch(qkv, sight, out, lse, d_out, d_qkv, delta, size, stream);
      error != cudaSuccess)
    return error;
  return KeyValuePass<T, Sight>::launch(qkv, sight, lse, d_out, d_qkv, delta, size, stream);
}

/// Both passes by kernels that take little shared memory (grouped.cuh). Defined in
/// grouped_backward.cuh.
template <class T, class Sight>
struct GroupedBackward {
  static cudaError_t launch(const T* qkv, Sight sight, const T* out, const float* lse,
                            const T* d_out, T* d_qkv, float* delta, const AttentionSize& size,
                            cudaStream_t stream);
};

}  // namespace trainx::kernels
