#include "kernels/attention/backward.hpp"
#include "kernels/attention/dropped.cuh"
#include "kernels/attention/grouped.cuh"
#include "kernels/attention/nearby.cuh"
#include "kernels/attention/nearby_attention.hpp"

namespace trainx::kernels {

template <class T>
cudaError_t nearby_attention_backward(const T* qkv, const std::int32_t* lengths, const T* out,
                                      const float* lse, const T* d_out, T* d_qkv, float* delta,
                                      const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_grouped_launchable(size) || size.soft_cap > 0) return cudaErrorInvalidValue;
  const Nearby sight = nearby(lengths, size);
  if (size.dropout)
    return GroupedBackward<T, Dropped<Nearby>>::launch(qkv, {sight}, out, lse, d_out, d_qkv, delta,
                                                       size, stream);
  return GroupedBackward<T, Nearby>::launch(qkv, sight, out, lse, d_out, d_qkv, delta, size,
                                            stream);
}

#define TRAINX_NEARBY(T)                                                                  \
  template cudaError_t nearby_attention_backward(const T*, const std::int32_t*, const T*, \
                                                 const float*, const T*, T*, float*,      \
                                                 const AttentionSize&, cudaStream_t);
TRAINX_NEARBY(float)
TRAINX_NEARBY(Bf16)
TRAINX_NEARBY(Fp16)
#undef TRAINX_NEARBY

}  // namespace trainx::kernels
