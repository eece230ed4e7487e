#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/grouped.cuh"
#include "kernels/attention/nearby.cuh"
#include "kernels/attention/nearby_attention.hpp"

namespace trainx::kernels {

template <class T>
cudaError_t nearby_attention_forward(const T* qkv, const std::int32_t* lengths, T* out, float* lse,
                                     const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_grouped_launchable(size) || size.soft_cap > 0) return cudaErrorInvalidValue;
  const Nearby sight = nearby(lengths, size);
  if (size.dropout)
    return launch_grouped<Forward, T>(size, stream, qkv, Dropped<Nearby>{sight}, out, lse);
  return launch_grouped<Forward, T>(size, stream, qkv, sight, out, lse);
}

template cudaError_t nearby_attention_forward(const float*, const std::int32_t*, float*, float*,
                                              const AttentionSize&, cudaStream_t);
template cudaError_t nearby_attention_forward(const Bf16*, const std::int32_t*, Bf16*, float*,
                                              const AttentionSize&, cudaStream_t);
template cudaError_t nearby_attention_forward(const Fp16*, const std::int32_t*, Fp16*, float*,
                                              const AttentionSize&, cudaStream_t);

}  // namespace trainx::kernels
