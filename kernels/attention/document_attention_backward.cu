#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/documents.cuh"

namespace trainx::kernels {

cudaError_t document_attention_backward(const float* qkv, const std::int32_t* starts,
                                        const float* out, const float* lse, const float* d_out,
                                        float* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, Documents{starts, ends}, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t document_attention_backward(const Bf16* qkv, const std::int32_t* starts,
                                        const Bf16* out, const float* lse, const Bf16* d_out,
                                        Bf16* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, Documents{starts, ends}, out, lse, d_out, d_qkv, delta, size, stream);
}
cudaError_t document_attention_backward(const Fp16* qkv, const std::int32_t* starts,
                                        const Fp16* out, const float* lse, const Fp16* d_out,
                                        Fp16* d_qkv, float* delta, std::int32_t* ends,
                                        const AttentionSize& size, cudaStream_t stream) {
  return backward(qkv, Documents{starts, ends}, out, lse, d_out, d_qkv, delta, size, stream);
}

}  // namespace trainx::kernels
