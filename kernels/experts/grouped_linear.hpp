#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// A linear layer for each of E experts, of rows that are sorted by expert: rows offsets[e] to
/// offsets[e + 1] belong to expert e. The offsets lie on the device, and launches do not depend on
/// them: there are thread blocks for every spread of the R rows.
struct GroupedSizes {
  std::int64_t rows = 0, in = 0, out = 0, experts = 0;  // R below 2^31 - 2^20, E below 2^16
  const std::int32_t* offsets = nullptr;                // [E + 1]
};

/// y[R, out] = x[R, in] weight[E, out, in]^T of the row's expert.
template <class T>
struct GroupedLinear {
  GroupedSizes sizes;
  const T* x = nullptr;
  const T* weight = nullptr;
  T* y = nullptr;
};
/// dx[R, in] = dy[R, out] weight[E, out, in].
template <class T>
struct GroupedLinearBackwardInput {
  GroupedSizes sizes;
  const T* dy = nullptr;
  const T* weight = nullptr;
  T* dx = nullptr;
};
/// d_weight[E, out, in] = or += dy^T x over the expert's rows; without rows = or += 0.
template <class T>
struct GroupedLinearBackwardWeight {
  GroupedSizes sizes;
  const T* dy = nullptr;
  const T* x = nullptr;
  float* d_weight = nullptr;
  bool accumulate = false;
};

/// T: float, Bf16 or Fp16. Sums are of fp32, of an element in the order of its products: repeats
/// are bit-equal, on GPUs of every kind that has the same products. NaN carries through.
/// Pointers need their element's alignment; of 16-bit elements 16 bytes, with `in` and `out`
/// multiples of 8, are much faster. The references compute in double precision.
template <class T>
void grouped_linear_reference(const GroupedLinear<T>& op);
template <class T>
void grouped_linear_backward_input_reference(const GroupedLinearBackwardInput<T>& op);
template <class T>
void grouped_linear_backward_weight_reference(const GroupedLinearBackwardWeight<T>& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch each, whose status is returned. No rows: no launch, except
/// that a weight gradient that is not added to becomes 0.
template <class T>
cudaError_t grouped_linear(const GroupedLinear<T>& op, cudaStream_t stream);
template <class T>
cudaError_t grouped_linear_backward_input(const GroupedLinearBackwardInput<T>& op,
                                          cudaStream_t stream);
template <class T>
cudaError_t grouped_linear_backward_weight(const GroupedLinearBackwardWeight<T>& op,
                                           cudaStream_t stream);
#endif

}  // namespace trainx::kernels
