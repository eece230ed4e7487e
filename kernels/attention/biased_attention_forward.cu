#include "kernels/attention/biased_attention.hpp"
#include "kernels/attention/biased_sight.cuh"
#include "kernels/attention/forward.hpp"

namespace trainx::kernels {

template <class T>
cudaError_t biased_attention_forward(const T* qkv, const std::int32_t* seen, T* out, float* lse,
                                     const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_biased_launchable(size)) return cudaErrorInvalidValue;
  return with_biased_sight(seen, nullptr, size, [&](auto sight) {
    return GroupedForward<T, decltype(sight)>::launch(qkv, sight, out, lse, size, stream);
  });
}

#define TRAINX_BIASED(T)                                                                   \
  template cudaError_t biased_attention_forward(const T*, const std::int32_t*, T*, float*, \
                                                const AttentionSize&, cudaStream_t);
TRAINX_BIASED(float)
TRAINX_BIASED(Bf16)
TRAINX_BIASED(Fp16)
#undef TRAINX_BIASED

}  // namespace trainx::kernels
