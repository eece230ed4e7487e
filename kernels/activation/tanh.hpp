#pragma once
#include "kernels/bits.hpp"
#include "kernels/fold_memory.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// d_pre[N, C] = d_out[N, C] * (1 - out[N, C]^2), out = tanh(pre); d_bias[C] = or += its column
/// sums, as rounded.
template <class T>
struct TanhBackward {
  std::int64_t rows = 0, columns = 0;  // N >= 0, C from 0 to 262144
  const T* d_out = nullptr;
  const T* out = nullptr;
  T* d_pre = nullptr;       // may be d_out or out
  float* d_bias = nullptr;  // null: not wanted
  bool accumulate = false;  // d_bias is added to, rather than overwritten
};

/// fp32 in arithmetic, rounded once; NaN stays NaN; sums are folded in a fixed order, so repeats on
/// one GPU are bit-equal. Pointers need their element's alignment; 16 bytes, with C a multiple of
/// 8, are faster. The references work on host memory, in double precision.
void tanh_reference(float* out, const float* pre, std::int64_t elements);
void tanh_reference(Bf16* out, const Bf16* pre, std::int64_t elements);
void tanh_reference(Fp16* out, const Fp16* pre, std::int64_t elements);
void tanh_backward_reference(const TanhBackward<float>& op);
void tanh_backward_reference(const TanhBackward<Bf16>& op);
void tanh_backward_reference(const TanhBackward<Fp16>& op);
/// Of FoldMemory::partial; without d_bias the memory may be null.
std::int64_t tanh_backward_partial_bytes(std::int64_t columns);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch, whose status is returned. `out` may be `pre`.
cudaError_t tanh(float* out, const float* pre, std::int64_t elements, cudaStream_t stream);
cudaError_t tanh(Bf16* out, const Bf16* pre, std::int64_t elements, cudaStream_t stream);
cudaError_t tanh(Fp16* out, const Fp16* pre, std::int64_t elements, cudaStream_t stream);
cudaError_t tanh_backward(const TanhBackward<float>& op, const FoldMemory& memory,
                          cudaStream_t stream);
cudaError_t tanh_backward(const TanhBackward<Bf16>& op, const FoldMemory& memory,
                          cudaStream_t stream);
cudaError_t tanh_backward(const TanhBackward<Fp16>& op, const FoldMemory& memory,
                          cudaStream_t stream);
#endif

}  // namespace trainx::kernels
