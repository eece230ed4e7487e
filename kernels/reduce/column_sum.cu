#include "kernels/reduce/column_sum.hpp"
#include "kernels/reduce/column_tile.cuh"

namespace trainx::kernels {
namespace {

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
    float values[8];
    widen8(fetched, values);
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += values[j];
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

}  // namespace trainx::kernels
