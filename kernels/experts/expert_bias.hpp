#pragma once
#include "kernels/experts/grouped_linear.hpp"

namespace trainx::kernels {

/// y[R, out] += bias[E, out] of the row's expert, rounded to T. `in` does not matter.
template <class T>
struct ExpertBias {
  GroupedSizes sizes;
  const T* bias = nullptr;
  T* y = nullptr;
};
/// d_bias[E, out] = or += sums of dy[R, out] over the expert's rows; without rows = or += 0.
template <class T>
struct ExpertBiasGradient {
  GroupedSizes sizes;
  const T* dy = nullptr;
  float* d_bias = nullptr;
  bool accumulate = false;
};

/// T: float, Bf16 or Fp16. Sums are of fp32 within 32 strands of an expert's rows, which are added
/// in order: repeats are bit-equal. NaN carries through. Bytes of an element: forward reads a T and
/// writes one, backward reads one. Pointers need their element's alignment; 16 bytes, with `out` a
/// multiple of 8, are faster. The references compute in double precision.
template <class T>
void expert_bias_reference(const ExpertBias<T>& op);
template <class T>
void expert_bias_gradient_reference(const ExpertBiasGradient<T>& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch, whose status is returned. No rows: no launch, except that
/// a gradient that is not added to becomes 0.
template <class T>
cudaError_t expert_bias(const ExpertBias<T>& op, cudaStream_t stream);
template <class T>
cudaError_t expert_bias_gradient(const ExpertBiasGradient<T>& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
