// Column sums of what a row-wise source gives: tiles of columns times slabs of rows, folded in the
// launch.
#pragma once
#include "kernels/eight.cuh"
#include "kernels/fold.cuh"
#include "kernels/fold_memory.hpp"
#include "kernels/launch.hpp"
#include <algorithm>
#include <cstdint>

namespace trainx::kernels {

/// Blocks of 256 threads: `lanes` threads side by side hold a row's part of the tile, eight columns
/// each.
constexpr int tile_threads = 256;
constexpr int tile_blocks_per_multiprocessor = 4;
constexpr std::int64_t most_tile_blocks = 1024;  // bounds the partial sums without knowing the GPU

struct TileGrid {
  int lanes = 8;
  std::int64_t tiles = 0, most_slabs = 1;
};
/// Narrow tiles give many tiles, so few slabs to fold; wide matrices take wide ones, so that the
/// counters suffice.
inline TileGrid tile_grid(std::int64_t columns) {
  TileGrid g;
  g.lanes = columns <= 8 * 8 * fold_counters ? 8 : 32;
  g.tiles = (columns + 8 * g.lanes - 1) / (8 * g.lanes);
  g.most_slabs = std::max<std::int64_t>(1, most_tile_blocks / std::max<std::int64_t>(1, g.tiles));
  return g;
}
inline std::int64_t tile_partial_bytes(std::int64_t columns) {
  return tile_grid(columns).most_slabs * columns * static_cast<std::int64_t>(sizeof(float));
}

/// Where the sums go.
struct TileSums {
  float* sums = nullptr;  // [columns]; null: none are wanted
  bool accumulate = false;
  FoldMemory memory;
};

/// Source: `T`; load(row, column, count) fetches what it needs of eight columns into a
/// Source::Fetched; add(row, column, count, fetched, sums) adds to eight sums. Each thread fetches
/// `ahead` rows at a time.
template <class Source, int lanes, int ahead>
__global__ void __launch_bounds__(tile_threads, tile_blocks_per_multiprocessor)
    column_tile_kernel(Source source, std::int64_t rows, std::int64_t columns, TileSums to) {
  constexpr int rows_at_once = tile_threads / lanes, width = 8 * lanes, warps = tile_threads / 32;
  // at most [parts][width] of the fold, [warps][width] before it
  __shared__ float shared[tile_threads * 8];
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * width + 8 * lane;
  const int count = static_cast<int>(columns - column < 8 ? columns - column : 8);
  float sums[8] = {};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * rows_at_once;
  for (std::int64_t first =
           static_cast<std::int64_t>(blockIdx.y) * rows_at_once + threadIdx.x / lanes;
       first < rows; first += ahead * step) {
    typename Source::Fetched fetched[ahead];
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      const std::int64_t row = first + a * step;
      fetched[a] = source.load(row, column, row < rows ? count : 0);
    }
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      const std::int64_t row = first + a * step;
      if (row < rows && count > 0) source.add(row, column, count, fetched[a], sums);
    }
  }
  if (!to.sums) return;

    // Over the rows of a warp, of the block, then over the slabs.
#pragma unroll
  for (int j = 0; j < 8; ++j) {
#pragma unroll
    for (int offset = 16; offset >= lanes; offset /= 2)
      sums[j] += __shfl_xor_sync(0xffffffffu, sums[j], offset);
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (threadIdx.x % 32 < lanes) {
#pragma unroll
    for (int j = 0; j < 8; ++j) shared[warp * width + 8 * lane + j] = sums[j];
  }
  __syncthreads();
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * width;
  const bool alone = gridDim.y == 1;
  if (static_cast<int>(threadIdx.x) < width && first_column + threadIdx.x < columns) {
    const std::int64_t c = first_column + threadIdx.x;
    float total = 0;
    for (int w = 0; w < warps; ++w) total += shared[w * width + threadIdx.x];
    if (alone)
      to.sums[c] = to.accumulate ? to.sums[c] + total : total;
    else
      to.memory.partial[blockIdx.y * columns + c] = total;
  }
  if (alone || !last_to_arrive(to.memory.counters + blockIdx.x, gridDim.y)) return;
  constexpr int parts = tile_threads / width > 0 ? tile_threads / width : 1;
  const int part = static_cast<int>(threadIdx.x) / width, slabs = static_cast<int>(gridDim.y);
  const std::int64_t c = first_column + threadIdx.x % width;
  float total = 0;
  if (c < columns) {
#pragma unroll 8
    for (int s = part; s < slabs; s += parts) total += __ldcg(to.memory.partial + s * columns + c);
  }
  shared[threadIdx.x] = total;
  __syncthreads();
  if (part == 0 && c < columns) {
    for (int p = 1; p < parts; ++p) total += shared[p * width + threadIdx.x];
    to.sums[c] = to.accumulate ? to.sums[c] + total : total;
  }
}

/// One launch over [rows, columns]; with no rows the sums are 0.
template <int ahead, class Source>
cudaError_t launch_column_tiles(const Source& source, std::int64_t rows, std::int64_t columns,
                                const TileSums& to, cudaStream_t stream) {
  if (columns == 0 || (rows == 0 && !to.sums)) return cudaSuccess;
  const TileGrid grid = tile_grid(columns);
  if (grid.tiles > fold_counters) return cudaErrorInvalidValue;
  const int rows_at_once = tile_threads / grid.lanes;
  unsigned blocks = 0;
  if (const cudaError_t error = blocks_for(
          std::max<std::int64_t>(1, grid.tiles * ((rows + rows_at_once - 1) / rows_at_once)),
          tile_blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  const std::int64_t slabs =
      std::clamp<std::int64_t>(blocks / grid.tiles, 1, to.sums ? grid.most_slabs : 65535);
  const dim3 shape(static_cast<unsigned>(grid.tiles), static_cast<unsigned>(slabs));
  if (grid.lanes == 8)
    column_tile_kernel<Source, 8, ahead>
        <<<shape, tile_threads, 0, stream>>>(source, rows, columns, to);
  else
    column_tile_kernel<Source, 32, ahead>
        <<<shape, tile_threads, 0, stream>>>(source, rows, columns, to);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
