#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/dropped_attention.hpp"
#include "kernels/attention/grouped.cuh"
#include "kernels/attention/grouped_attention.hpp"

namespace trainx::kernels {
namespace {

template <class T>
cudaError_t forward(const T* qkv, const std::int32_t* starts, T* out, float* lse,
                    const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_grouped_launchable(size)) return cudaErrorInvalidValue;
  if (size.dropout) return dropped_grouped_forward(qkv, starts, out, lse, size, stream);
  return with_sight(starts, nullptr, size, [&](auto sight) {
    return launch_grouped<Forward, T>(size, stream, qkv, sight, out, lse);
  });
}

}  // namespace

cudaError_t grouped_attention_forward(const float* qkv, const std::int32_t* starts, float* out,
                                      float* lse, const AttentionSize& size, cudaStream_t stream) {
  return forward(qkv, starts, out, lse, size, stream);
}
cudaError_t grouped_attention_forward(const Bf16* qkv, const std::int32_t* starts, Bf16* out,
                                      float* lse, const AttentionSize& size, cudaStream_t stream) {
  return forward(qkv, starts, out, lse, size, stream);
}
cudaError_t grouped_attention_forward(const Fp16* qkv, const std::int32_t* starts, Fp16* out,
                                      float* lse, const AttentionSize& size, cudaStream_t stream) {
  return forward(qkv, starts, out, lse, size, stream);
}

}  // namespace trainx::kernels
