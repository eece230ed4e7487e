#include "kernels/attention/backward.hpp"
#include "kernels/attention/dropped.cuh"
#include "kernels/attention/dropped_attention.hpp"
#include "kernels/attention/grouped.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {

template <class T>
cudaError_t dropped_attention_backward(const T* qkv, const std::int32_t* lengths, const T* out,
                                       const float* lse, const T* d_out, T* d_qkv, float* delta,
                                       const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_launchable(size)) return cudaErrorInvalidValue;
  return GroupedBackward<T, Dropped<Lengths>>::launch(qkv, {{lengths}}, out, lse, d_out, d_qkv,
                                                      delta, size, stream);
}

template <class T>
cudaError_t dropped_grouped_backward(const T* qkv, const std::int32_t* starts, const T* out,
                                     const float* lse, const T* d_out, T* d_qkv, float* delta,
                                     std::int32_t* ends, const AttentionSize& size,
                                     cudaStream_t stream) {
  return with_sight(starts, ends, size, [&](auto sight) {
    return GroupedBackward<T, Dropped<decltype(sight)>>::launch(qkv, {sight}, out, lse, d_out,
                                                                d_qkv, delta, size, stream);
  });
}

#define TRAINX_DROPPED(T)                                                                          \
  template cudaError_t dropped_attention_backward(const T*, const std::int32_t*, const T*,         \
                                                  const float*, const T*, T*, float*,              \
                                                  const AttentionSize&, cudaStream_t);             \
  template cudaError_t dropped_grouped_backward(const T*, const std::int32_t*, const T*,           \
                                                const float*, const T*, T*, float*, std::int32_t*, \
                                                const AttentionSize&, cudaStream_t);
TRAINX_DROPPED(float)
TRAINX_DROPPED(Bf16)
TRAINX_DROPPED(Fp16)
#undef TRAINX_DROPPED

}  // namespace trainx::kernels
