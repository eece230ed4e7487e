#pragma once
#include "kernels/bits.hpp"
#include "kernels/fold_memory.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// The Gaussian error linear unit (Hendrycks & Gimpel 2016, arXiv:1606.08415).
enum class GeluKind : std::uint8_t {
  // x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): "gelu_new" of GPT-2
  tanh,
  erf,  // x / 2 * (1 + erf(x / sqrt(2))): "gelu" of BERT
};

/// d_pre[N, C] = d_out[N, C] * gelu'(pre[N, C]); d_bias[C] = or += its column sums, as rounded.
template <class T>
struct GeluBackward {
  std::int64_t rows = 0, columns = 0;  // N >= 0, C from 0 to 262144
  const T* d_out = nullptr;
  const T* pre = nullptr;
  T* d_pre = nullptr;       // may be d_out or pre
  float* d_bias = nullptr;  // null: not wanted
  bool accumulate = false;  // d_bias is added to, rather than overwritten
};

/// fp32 in arithmetic, rounded once; NaN stays NaN; sums are folded in a fixed order, so repeats on
/// one GPU are bit-equal. Pointers need their element's alignment; 16 bytes, with C a multiple of
/// 8, are faster. The references work on host memory, in double precision.
void gelu_reference(float* out, const float* pre, std::int64_t elements, GeluKind kind);
void gelu_reference(Bf16* out, const Bf16* pre, std::int64_t elements, GeluKind kind);
void gelu_reference(Fp16* out, const Fp16* pre, std::int64_t elements, GeluKind kind);
void gelu_backward_reference(const GeluBackward<float>& op, GeluKind kind);
void gelu_backward_reference(const GeluBackward<Bf16>& op, GeluKind kind);
void gelu_backward_reference(const GeluBackward<Fp16>& op, GeluKind kind);
/// Of FoldMemory::partial; without d_bias the memory may be null.
std::int64_t gelu_backward_partial_bytes(std::int64_t columns);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch, whose status is returned. `out` may be `pre`.
cudaError_t gelu(float* out, const float* pre, std::int64_t elements, GeluKind kind,
                 cudaStream_t stream);
cudaError_t gelu(Bf16* out, const Bf16* pre, std::int64_t elements, GeluKind kind,
                 cudaStream_t stream);
cudaError_t gelu(Fp16* out, const Fp16* pre, std::int64_t elements, GeluKind kind,
                 cudaStream_t stream);
cudaError_t gelu_backward(const GeluBackward<float>& op, GeluKind kind, const FoldMemory& memory,
                          cudaStream_t stream);
cudaError_t gelu_backward(const GeluBackward<Bf16>& op, GeluKind kind, const FoldMemory& memory,
                          cudaStream_t stream);
cudaError_t gelu_backward(const GeluBackward<Fp16>& op, GeluKind kind, const FoldMemory& memory,
                          cudaStream_t stream);
#endif

}  // namespace trainx::kernels
