#pragma once
#include "kernels/bits.hpp"
#include "kernels/fold_memory.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// sums[C] = or += sum over the rows of x[N, C]: the gradient of a bias.
template <class T>
struct ColumnSum {
  std::int64_t rows = 0, columns = 0;  // N >= 0, C from 0 to 262144
  const T* x = nullptr;
  float* sums = nullptr;
  bool accumulate = false;
};

/// Of two matrices side by side, each with rows of its own: of the first one's columns, then of the
/// second one's. Both have columns in multiples of 8, at 16 bytes.
struct ColumnSumOfTwo {
  std::int64_t rows[2] = {}, columns[2] = {};
  const float* x[2] = {};
  float* sums = nullptr;  // [columns of both]
  bool accumulate = false;
};

/// In fp32, folded in a fixed order: repeats on one GPU are bit-equal. NaN carries through; with no
/// rows the sum is 0. Pointers need their element's alignment; 16 bytes, with C a multiple of 8,
/// are faster. The references work on host memory, in double precision.
void column_sum_reference(const ColumnSum<float>& op);
void column_sum_reference(const ColumnSum<Bf16>& op);
void column_sum_reference(const ColumnSum<Fp16>& op);
void column_sum_reference(const ColumnSumOfTwo& op);
/// Of FoldMemory::partial; of two matrices, by the columns of both.
std::int64_t column_sum_partial_bytes(std::int64_t columns);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch, whose status is returned.
cudaError_t column_sum(const ColumnSum<float>& op, const FoldMemory& memory, cudaStream_t stream);
cudaError_t column_sum(const ColumnSum<Bf16>& op, const FoldMemory& memory, cudaStream_t stream);
cudaError_t column_sum(const ColumnSum<Fp16>& op, const FoldMemory& memory, cudaStream_t stream);
cudaError_t column_sum(const ColumnSumOfTwo& op, const FoldMemory& memory, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
