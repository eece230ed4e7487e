#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/dropped_attention.hpp"
#include "kernels/attention/grouped.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

template <class T>
cudaError_t dropped_attention_forward(const T* qkv, const std::int32_t* lengths, T* out, float* lse,
                                      const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_launchable(size)) return cudaErrorInvalidValue;
  return launch_grouped<Forward, T>(size, stream, qkv, Dropped<Lengths>{{lengths}}, out, lse);
}

template <class T>
cudaError_t dropped_grouped_forward(const T* qkv, const std::int32_t* starts, T* out, float* lse,
                                    const AttentionSize& size, cudaStream_t stream) {
  return with_sight(starts, nullptr, size, [&](auto sight) {
    return launch_grouped<Forward, T>(size, stream, qkv, Dropped<decltype(sight)>{sight}, out, lse);
  });
}

#define TRAINX_DROPPED(T)                                                                   \
  template cudaError_t dropped_attention_forward(const T*, const std::int32_t*, T*, float*, \
                                                 const AttentionSize&, cudaStream_t);       \
  template cudaError_t dropped_grouped_forward(const T*, const std::int32_t*, T*, float*,   \
                                               const AttentionSize&, cudaStream_t);
TRAINX_DROPPED(float)
TRAINX_DROPPED(Bf16)
TRAINX_DROPPED(Fp16)
#undef TRAINX_DROPPED

}  // namespace trainx::kernels
