#include "kernels/attention/backward.hpp"
#include "kernels/attention/dropped_attention.hpp"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {
namespace {

template <class T>
cudaError_t of_lengths(const T* qkv, const std::int32_t* lengths, const T* out, const float* lse,
                       const T* d_out, T* d_qkv, float* delta, const AttentionSize& size,
                       cudaStream_t stream) {
  if (size.dropout)
    return dropped_attention_backward(qkv, lengths, out, lse, d_out, d_qkv, delta, size, stream);
  return launch_passes(qkv, Lengths{lengths}, out, lse, d_out, d_qkv, delta, size, stream);
}

}  // namespace

cudaError_t attention_backward(const float* qkv, const std::int32_t* lengths, const float* out,
                               const float* lse, const float* d_out, float* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return of_lengths(qkv, lengths, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t attention_backward(const Bf16* qkv, const std::int32_t* lengths, const Bf16* out,
                               const float* lse, const Bf16* d_out, Bf16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return of_lengths(qkv, lengths, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t attention_backward(const Fp16* qkv, const std::int32_t* lengths, const Fp16* out,
                               const float* lse, const Fp16* d_out, Fp16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return of_lengths(qkv, lengths, out, lse, d_out, d_qkv, delta, size, stream);
}

}  // namespace trainx::kernels
