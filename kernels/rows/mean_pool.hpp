#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// pooled[b] = the mean of rows[b * T + t] over t < lengths[b], summed in fp32; of a sample without
/// tokens 0. Backward writes all of `rows`, gradients of those of `pooled`: rows[b * T + t] =
/// pooled[b] / lengths[b], 0 past a length.
template <class T>
struct MeanPool {
  std::int64_t samples = 0, length = 0, columns = 0;  // B, T, C
  const std::int32_t* lengths = nullptr;              // [B], from 0 to T
  T* rows = nullptr;                                  // [B * T, C]
  T* pooled = nullptr;                                // [B, C]
};

template <class T>
void mean_pool_reference(const MeanPool<T>& op);
template <class T>
void mean_pool_backward_reference(const MeanPool<T>& op);

#if __has_include(<cuda_runtime_api.h>)
/// For float, Bf16 and Fp16. Asynchronous on `stream`; each is one launch, whose status is
/// returned. Sums are in one order: repeats give the same bits.
template <class T>
cudaError_t mean_pool(const MeanPool<T>& op, cudaStream_t stream);
template <class T>
cudaError_t mean_pool_backward(const MeanPool<T>& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
