#include "kernels/attention/across.cuh"
#include "kernels/attention/across_attention.hpp"
#include "kernels/attention/attention_forward.cuh"
#include "kernels/attention/backward.hpp"
#include "kernels/attention/grouped.cuh"

namespace trainx::kernels {
namespace {

bool is_across_launchable(const AttentionSize& s) {
  return is_grouped_launchable(s) && s.soft_cap == 0 && s.window == 0 && s.memory.tokens >= 1 &&
         s.memory.tokens <= INT_MAX / 2;
}

/// Calls launch(the sight, with or without dropout).
template <class Launch>
cudaError_t with_across(const std::int32_t* lengths, const AttentionSize& size, Launch launch) {
  const Across sight{lengths};
  return size.dropout ? launch(Dropped<Across>{sight}) : launch(sight);
}

}  // namespace

template <class T>
cudaError_t across_attention_forward(const T* q, const std::int32_t* lengths, T* out, float* lse,
                                     const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_across_launchable(size)) return cudaErrorInvalidValue;
  return with_across(lengths, size, [&](auto sight) {
    return launch_grouped<Forward, T>(size, stream, q, sight, out, lse);
  });
}

template <class T>
cudaError_t across_attention_backward(const T* q, const std::int32_t* lengths, const T* out,
                                      const float* lse, const T* d_out, T* d_q, float* delta,
                                      const AttentionSize& size, cudaStream_t stream) {
  if (is_nothing(size)) return cudaSuccess;
  if (!is_across_launchable(size)) return cudaErrorInvalidValue;
  return with_across(lengths, size, [&](auto sight) {
    return GroupedBackward<T, decltype(sight)>::launch(q, sight, out, lse, d_out, d_q, delta, size,
                                                       stream);
  });
}

#define TRAINX_ACROSS(T)                                                                   \
  template cudaError_t across_attention_forward(const T*, const std::int32_t*, T*, float*, \
                                                const AttentionSize&, cudaStream_t);       \
  template cudaError_t across_attention_backward(const T*, const std::int32_t*, const T*,  \
                                                 const float*, const T*, T*, float*,       \
                                                 const AttentionSize&, cudaStream_t);
TRAINX_ACROSS(float)
TRAINX_ACROSS(Bf16)
TRAINX_ACROSS(Fp16)
#undef TRAINX_ACROSS

}  // namespace trainx::kernels
