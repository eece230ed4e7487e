#pragma once
#include "kernels/activation/activation_kind.hpp"
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include "kernels/fold_memory.hpp"
#include <cstdint>

namespace trainx::kernels {

/// d_pre[N, C] = d_out[N, C] * f'(pre[N, C]); d_bias[C] = or += its column sums, as rounded.
template <class T>
struct PointwiseBackward {
  std::int64_t rows = 0, columns = 0;  // N >= 0, C from 0 to 262144
  const T* d_out = nullptr;
  const T* kept = nullptr;  // pre; of tanh the result, of which f' is 1 - result^2
  T* d_pre = nullptr;       // may be d_out or kept
  float* d_bias = nullptr;  // null: not wanted
  bool accumulate = false;  // d_bias is added to, rather than overwritten
};

/// T: float, Bf16 or Fp16; fp32 in arithmetic, rounded once; NaN stays NaN; sums are folded in a
/// fixed order, so repeats on one GPU are bit-equal. Bytes of an element: forward reads one T and
/// writes one, backward reads two and writes one. Pointers need their element's alignment; 16
/// bytes, with C a multiple of 8, are faster. The references work on host memory, in double
/// precision.
template <class T>
void pointwise_reference(T* out, const T* pre, std::int64_t elements, ActivationKind kind);
template <class T>
void pointwise_backward_reference(const PointwiseBackward<T>& op, ActivationKind kind);
/// Of FoldMemory::partial; without d_bias the memory may be null.
std::int64_t pointwise_backward_partial_bytes(std::int64_t columns);
/// Asynchronous on `stream`; one launch, whose status is returned. `out` may be `pre`.
template <class T>
cudaError_t pointwise(T* out, const T* pre, std::int64_t elements, ActivationKind kind,
                      cudaStream_t stream);
template <class T>
cudaError_t pointwise_backward(const PointwiseBackward<T>& op, ActivationKind kind,
                               const FoldMemory& memory, cudaStream_t stream);

}  // namespace trainx::kernels
