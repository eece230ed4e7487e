// Multi-head latent attention's queries, keys and values side by side (DeepSeek-V2,
// arXiv:2405.04434).
#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// y[N, H * D | H * D | H * V], D = rope + plain, of queries[N, H * (plain + rope)], keys_values[N,
/// H * (plain + V)] and the last `rope` columns of latent[N, latent_columns], which all heads
/// share. In y the part that turns, `rope` columns, is the first of each head's.
template <class T>
struct LatentHeads {
  std::int64_t rows = 0, heads = 1, plain = 1, rope = 1, value_size = 1, latent_columns = 1;
  const T* queries = nullptr;
  const T* keys_values = nullptr;
  const T* latent = nullptr;
  T* y = nullptr;

  std::int64_t head_size() const { return plain + rope; }
};
/// Gradients of dy; null: not wanted. The addends, or null for 0, may be what is written.
template <class T>
struct LatentHeadsBackward {
  LatentHeads<T> of;  // sizes alone
  const T* dy = nullptr;
  T* queries = nullptr;
  T* keys_values = nullptr;
  T* latent = nullptr;  // all its columns; heads add up in fp32, from the first on
  const T* queries_addend = nullptr;
  const T* keys_values_addend = nullptr;
  const T* latent_addend = nullptr;
};

/// T: float, Bf16 or Fp16.
template <class T>
void latent_heads_reference(const LatentHeads<T>& op);
template <class T>
void latent_heads_backward_reference(const LatentHeadsBackward<T>& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; each is one launch for each tensor written, whose status is returned.
template <class T>
cudaError_t latent_heads(const LatentHeads<T>& op, cudaStream_t stream);
template <class T>
cudaError_t latent_heads_backward(const LatentHeadsBackward<T>& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
