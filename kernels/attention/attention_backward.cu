#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

cudaError_t attention_backward(const float* qkv, const std::int32_t* lengths, const float* out,
                               const float* lse, const float* d_out, float* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, Lengths{lengths}, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t attention_backward(const Bf16* qkv, const std::int32_t* lengths, const Bf16* out,
                               const float* lse, const Bf16* d_out, Bf16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, Lengths{lengths}, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t attention_backward(const Fp16* qkv, const std::int32_t* lengths, const Fp16* out,
                               const float* lse, const Fp16* d_out, Fp16* d_qkv, float* delta,
                               const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, Lengths{lengths}, out, lse, d_out, d_qkv, delta, size, stream);
}

}  // namespace trainx::kernels
