#include "kernels/attention/attention_backward.cuh"
#include "kernels/attention/dropped_attention.hpp"
#include "kernels/attention/grouped.cuh"
#include "kernels/attention/lengths.cuh"

namespace trainx::kernels {
namespace {

template <class T, class Sight>
cudaError_t dropped_backward(const T* qkv, Sight sight, const T* out, const float* lse,
                             const T* d_out, T* d_qkv, float* delta, const AttentionSize& size,
                             cudaStream_t stream) {
  if (const cudaError_t error = launch_row_deltas(out, d_out, delta, sight, size, stream);
      error != cudaSuccess)
    return error;
  const float* const deltas = delta;
  if (const cudaError_t error =
          launch_grouped<QueryGradient, T>(size, stream, qkv, sight, lse, d_out, d_qkv, deltas);
      error != cudaSuccess)
    return error;
  return launch_grouped<KeyValueGradient, T>(size, stream, qkv, sight, lse, d_out, d_qkv, deltas);
}

}  // namespace

template <class T>
cudaError_t dropped_attention_backward(const T* qkv, const std::int32_t* lengths, const T* out,
                                       const float* lse, const T* d_out, T* d_qkv, float* delta,
                                       const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_launchable(size)) return cudaErrorInvalidValue;
  return dropped_backward(qkv, Dropped<Lengths>{{lengths}}, out, lse, d_out, d_qkv, delta, size,
                          stream);
}

template <class T>
cudaError_t dropped_grouped_backward(const T* qkv, const std::int32_t* starts, const T* out,
                                     const float* lse, const T* d_out, T* d_qkv, float* delta,
                                     std::int32_t* ends, const AttentionSize& size,
                                     cudaStream_t stream) {
  return with_sight(starts, ends, size, [&](auto sight) {
    return dropped_backward(qkv, Dropped<decltype(sight)>{sight}, out, lse, d_out, d_qkv, delta,
                            size, stream);
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
