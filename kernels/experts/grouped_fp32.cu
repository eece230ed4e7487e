#include "kernels/experts/grouped_fp32.hpp"
#include "kernels/experts/grouped_search.cuh"

namespace trainx::kernels::grouped {
namespace {

constexpr int threads = 256, side = 128, steps_at_once = 16;
constexpr int padded = side + 4;  // rows stay at 16 bytes
constexpr int copied = side * steps_at_once / threads;

/// One operand's tile: [16 along the sum][128 beside it] in shared memory, by way of registers, so
/// that the next tile is on its way while this one is multiplied.
template <Layout layout>
struct Operand {
  const float* from;
  std::int64_t ld, others, inside;  // what is left beside the sum and along it
  float next[copied];

  /// Along the sum, beside it.
  __device__ static int depth_of(int i) {
    const int at = static_cast<int>(threadIdx.x) + i * threads;
    return layout == Layout::along ? at % steps_at_once : at / side;
  }
  __device__ static int other_of(int i) {
    const int at = static_cast<int>(threadIdx.x) + i * threads;
    return layout == Layout::along ? at / steps_at_once : at % side;
  }
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < copied; ++i) {
      const int d = depth_of(i), o = other_of(i);
      next[i] = d < inside && o < others ? from[layout == Layout::along ? o * ld + d : d * ld + o]
                                         : 0.0f;
    }
    from += layout == Layout::along ? steps_at_once : steps_at_once * ld;
    inside -= steps_at_once;
  }
  __device__ void put(float (&tile)[steps_at_once][padded]) const {
#pragma unroll
    for (int i = 0; i < copied; ++i) tile[depth_of(i)][other_of(i)] = next[i];
  }
};

/// Eight of a row of a tile: 4 from `first` on, and 4 from 64 behind it on.
__device__ __forceinline__ void read8(const float (&row)[padded], int first, float (&to)[8]) {
  const float4 low = *reinterpret_cast<const float4*>(row + first),
               high = *reinterpret_cast<const float4*>(row + side / 2 + first);
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

// A thread's 8 x 8 sums are four squares of 4 x 4, so that a warp reads neighbours.
template <Layout left, Layout right, Cut cut>
__global__ void __launch_bounds__(threads) grouped_gemm_fp32_kernel(Products<float, float> p) {
  __shared__ __align__(16) float left_tile[steps_at_once][padded];
  __shared__ __align__(16) float right_tile[steps_at_once][padded];
  std::int64_t block = blockIdx.x;
  int expert = 0;
  if constexpr (cut == Cut::sum) {
    const std::int64_t each = static_cast<std::int64_t>(p.row_tiles) * p.column_tiles;
    expert = static_cast<int>(block / each);
    block %= each;
  }
  const TileAt tile = tile_at(block, p.row_tiles, p.column_tiles);
  const std::int64_t first_column = static_cast<std::int64_t>(tile.column) * side,
                     columns = p.n - first_column;
  std::int64_t first_row = static_cast<std::int64_t>(tile.row) * side, rows = p.m - first_row,
               k = p.k;
  const float *a = p.a, *b = p.b;
  float* c = p.c;
  if constexpr (cut == Cut::rows) {
    RowRange range;
    if (!find_rows<side>(p.offsets, p.experts, tile.row, range)) return;
    first_row = range.first;
    rows = range.end - range.first;
    b += range.expert * p.of_expert;
  } else {
    const int begin = p.offsets[expert];
    k = p.offsets[expert + 1] - begin;
    if (k == 0 && p.accumulate) return;
    a += begin * p.lda;
    b += begin * p.ldb;
    c += expert * p.of_expert;
  }
  Operand<left> of_rows{
      a + (left == Layout::along ? first_row * p.lda : first_row), p.lda, rows, k, {}};
  Operand<right> of_columns{
      b + (right == Layout::along ? first_column * p.ldb : first_column), p.ldb, columns, k, {}};
  c += first_row * p.ldc + first_column;

  const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
  float sums[8][8] = {};
  of_rows.fetch();
  of_columns.fetch();
  for (; k > 0; k -= steps_at_once) {
    of_rows.put(left_tile);
    of_columns.put(right_tile);
    __syncthreads();
    if (k > steps_at_once) {
      of_rows.fetch();
      of_columns.fetch();
    }
#pragma unroll
    for (int d = 0; d < steps_at_once; ++d) {
      float x[8], y[8];
      read8(left_tile[d], 4 * ty, x);
      read8(right_tile[d], 4 * tx, y);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = i / 4 * (side / 2) + 4 * ty + i % 4;
    if (row >= rows) continue;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = j / 4 * (side / 2) + 4 * tx + j % 4;
      if (column >= columns) continue;
      float& to = c[row * p.ldc + column];
      to = p.accumulate ? to + sums[i][j] : sums[i][j];
    }
  }
}

}  // namespace

template <Layout left, Layout right, Cut cut>
cudaError_t multiply_fp32(const Products<float, float>& products, cudaStream_t stream) {
  Products<float, float> p = products;
  const std::int64_t blocks = blocks_of<cut>(p, side, side);
  if (blocks == 0) return cudaErrorInvalidValue;
  grouped_gemm_fp32_kernel<left, right, cut>
      <<<static_cast<unsigned>(blocks), threads, 0, stream>>>(p);
  return cudaGetLastError();
}
template cudaError_t multiply_fp32<Layout::along, Layout::along, Cut::rows>(
    const Products<float, float>&, cudaStream_t);
template cudaError_t multiply_fp32<Layout::along, Layout::across, Cut::rows>(
    const Products<float, float>&, cudaStream_t);
template cudaError_t multiply_fp32<Layout::across, Layout::across, Cut::sum>(
    const Products<float, float>&, cudaStream_t);

}  // namespace trainx::kernels::grouped
