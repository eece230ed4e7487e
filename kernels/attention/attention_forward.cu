#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

cudaError_t attention_forward(const float* qkv, const std::int32_t* lengths, float* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, float>(size, stream, qkv, Lengths{lengths}, out, lse);
}
cudaError_t attention_forward(const Bf16* qkv, const std::int32_t* lengths, Bf16* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, Bf16>(size, stream, qkv, Lengths{lengths}, out, lse);
}
cudaError_t attention_forward(const Fp16* qkv, const std::int32_t* lengths, Fp16* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream) {
  return launch_by_head<Forward, Fp16>(size, stream, qkv, Lengths{lengths}, out, lse);
}

}  // namespace trainx::kernels
