#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/dropped_attention.hpp"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {
namespace {

template <class T>
cudaError_t forward(const T* qkv, const std::int32_t* lengths, T* out, float* lse,
                    const AttentionSize& size, cudaStream_t stream) {
  if (size.dropout) return dropped_attention_forward(qkv, lengths, out, lse, size, stream);
  return launch_by_head<Forward, T>(size, stream, qkv, Lengths{lengths}, out, lse);
}

}  // namespace

cudaError_t attention_forward(const float* qkv, const std::int32_t* lengths, float* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream) {
  return forward(qkv, lengths, out, lse, size, stream);
}
cudaError_t attention_forward(const Bf16* qkv, const std::int32_t* lengths, Bf16* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream) {
  return forward(qkv, lengths, out, lse, size, stream);
}
cudaError_t attention_forward(const Fp16* qkv, const std::int32_t* lengths, Fp16* out, float* lse,
                              const AttentionSize& size, cudaStream_t stream) {
  return forward(qkv, lengths, out, lse, size, stream);
}

}  // namespace trainx::kernels
