#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/documents.cuh"

namespace trainx::kernels {

cudaError_t document_attention_forward(const float* qkv, const std::int32_t* starts, float* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, float>(size, stream, qkv, Documents{starts, nullptr}, out, lse);
}
cudaError_t document_attention_forward(const Bf16* qkv, const std::int32_t* starts, Bf16* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, Bf16>(size, stream, qkv, Documents{starts, nullptr}, out, lse);
}
cudaError_t document_attention_forward(const Fp16* qkv, const std::int32_t* starts, Fp16* out,
                                       float* lse, const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, Fp16>(size, stream, qkv, Documents{starts, nullptr}, out, lse);
}

}  // namespace trainx::kernels
