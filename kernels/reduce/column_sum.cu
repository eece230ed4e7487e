#include "kernels/reduce/column_sum.hpp"
#include "kernels/reduce/column_tile.cuh"
#include <algorithm>

namespace trainx::kernels {
namespace {

template <class T>
__device__ __forceinline__ void add_eight(const Eight<T>& x, float (&sums)[8]) {
  float values[8];
  widen8(x, values);
#pragma unroll
  for (int j = 0; j < 8; ++j) sums[j] += values[j];
}

template <class T, bool aligned>
struct Rows {
  using Fetched = Eight<T>;
  const T* x;
  std::int64_t columns;
  __device__ Fetched load(std::int64_t row, std::int64_t column, int count) const {
    return load8<aligned>(x + row * columns + column, count);
  }
  __device__ void add(std::int64_t, std::int64_t, int, const Fetched& fetched,
                      float (&sums)[8]) const {
    add_eight(fetched, sums);
  }
};

struct TwoMatrices {
  using Fetched = Eight<float>;
  const float* x[2];
  std::int64_t rows[2], columns[2];
  __device__ Fetched load(std::int64_t row, std::int64_t column, int count) const {
    const bool second = column >= columns[0];
    const std::int64_t own = second ? column - columns[0] : column;
    const float* const from = (second ? x[1] + row * columns[1] : x[0] + row * columns[0]) + own;
    return load8<true>(from, row < (second ? rows[1] : rows[0]) ? count : 0);
  }
  __device__ void add(std::int64_t, std::int64_t, int, const Fetched& fetched,
                      float (&sums)[8]) const {
    add_eight(fetched, sums);
  }
};

template <class T>
cudaError_t launch(const ColumnSum<T>& op, const FoldMemory& memory, cudaStream_t stream) {
  const TileSums to{op.sums, op.accumulate, memory};
  if (op.columns % 8 == 0 && aligned16(op.x))
    return launch_column_tiles<8>(Rows<T, true>{op.x, op.columns}, op.rows, op.columns, to, stream);
  return launch_column_tiles<4>(Rows<T, false>{op.x, op.columns}, op.rows, op.columns, to, stream);
}

}  // namespace

std::int64_t column_sum_partial_bytes(std::int64_t columns) { return tile_partial_bytes(columns); }
cudaError_t column_sum(const ColumnSum<float>& op, const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, memory, stream);
}
cudaError_t column_sum(const ColumnSum<Bf16>& op, const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, memory, stream);
}
cudaError_t column_sum(const ColumnSum<Fp16>& op, const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, memory, stream);
}
cudaError_t column_sum(const ColumnSumOfTwo& op, const FoldMemory& memory, cudaStream_t stream) {
  if (op.columns[0] % 8 != 0 || op.columns[1] % 8 != 0 || !aligned16(op.x[0]) ||
      !aligned16(op.x[1]))
    return cudaErrorInvalidValue;
  const TwoMatrices from{
      {op.x[0], op.x[1]}, {op.rows[0], op.rows[1]}, {op.columns[0], op.columns[1]}};
  return launch_column_tiles<8>(from, std::max(op.rows[0], op.rows[1]),
                                op.columns[0] + op.columns[1], {op.sums, op.accumulate, memory},
                                stream);
}

}  // namespace trainx::kernels
