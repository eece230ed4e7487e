#include "kernels/attention/backward.hpp"
#include "kernels/attention/biased_attention.hpp"
#include "kernels/attention/biased_sight.cuh"

namespace trainx::kernels {

template <class T>
cudaError_t biased_attention_backward(const T* qkv, const std::int32_t* seen, const T* out,
                                      const float* lse, const T* d_out, T* d_qkv, float* delta,
                                      std::int32_t* ends, const AttentionSize& size,
                                      cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_biased_launchable(size)) return cudaErrorInvalidValue;
  return with_biased_sight(seen, ends, size, [&](auto sight) {
    return GroupedBackward<T, decltype(sight)>::launch(qkv, sight, out, lse, d_out, d_qkv, delta,
                                                       size, stream);
  });
}

#define TRAINX_BIASED(T)                                                                          \
  template cudaError_t biased_attention_backward(                                                 \
      const T*, const std::int32_t*, const T*, const float*, const T*, T*, float*, std::int32_t*, \
      const AttentionSize&, cudaStream_t);
TRAINX_BIASED(float)
TRAINX_BIASED(Bf16)
TRAINX_BIASED(Fp16)
#undef TRAINX_BIASED

}  // namespace trainx::kernels
