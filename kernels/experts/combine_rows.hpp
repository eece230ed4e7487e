#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// y[n] = the sum over j of weights[n, j] * rows[places[n, j]], in the order of j, plus shared[n]
/// times sigmoid(gate[n]), each of the two where it is not null (a gate only beside shared rows).
template <class T>
struct CombineRows {
  std::int64_t tokens = 0, per_token = 1, columns = 0;  // N, k, H
  const T* rows = nullptr;                              // [N * k, H]
  const float* weights = nullptr;                       // [N, k]; null, if sparse: all are 1
  const std::int32_t* places = nullptr;                 // [N, k]
  const T* shared = nullptr;                            // [N, H]
  const T* gate = nullptr;                              // [N]
  T* y = nullptr;
  bool sparse = false;  // places below 0 have no row, and add nothing
};
/// Gradients of that; null: not wanted. d_rows reads weights, d_weights rows, d_shared the gate,
/// d_gate the gate and shared.
template <class T>
struct CombineRowsBackward {
  CombineRows<T> of;  // y is not read
  const T* dy = nullptr;
  T* d_rows = nullptr;
  float* d_weights = nullptr;
  T* d_shared = nullptr;
  T* d_gate = nullptr;
};

/// Sums of fp32 in one order: repeats are bit-equal. NaN carries through. The references compute in
/// double precision.
template <class T>
void combine_rows_reference(const CombineRows<T>& op);
template <class T>
void combine_rows_backward_reference(const CombineRowsBackward<T>& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch, whose status is returned. T: float, Bf16 or Fp16. Pointers
/// need their element's alignment; 16 bytes, with H a multiple of 8, are faster.
template <class T>
cudaError_t combine_rows(const CombineRows<T>& op, cudaStream_t stream);
template <class T>
cudaError_t combine_rows_backward(const CombineRowsBackward<T>& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
