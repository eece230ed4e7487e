#include "kernels/eight.cuh"
#include "kernels/quantize/fp8_cast.cuh"
#include "kernels/quantize/transpose_fp8.hpp"

namespace trainx::kernels {
namespace {

/// Block (x, y) moves the tile of 128 x 128 in column x and row y.
__global__ void __launch_bounds__(fp8_threads)
    transpose_fp8_kernel(std::uint8_t* to, const std::uint8_t* values, std::int64_t rows,
                         std::int64_t columns, bool aligned_rows, bool aligned_columns) {
  __shared__ uint4 tile[fp8_tile * fp8_pieces];
  constexpr int passes = fp8_tile * fp8_pieces / fp8_threads;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * fp8_tile,
                     first_column = static_cast<std::int64_t>(blockIdx.x) * fp8_tile;
  const int piece = static_cast<int>(threadIdx.x) % fp8_pieces;
  const std::int64_t c = first_column + piece * fp8_piece;
  const int count = in_piece(c, columns);
#pragma unroll
  for (int pass = 0; pass < passes; ++pass) {
    const int row = (static_cast<int>(threadIdx.x) + pass * fp8_threads) / fp8_pieces;
    const std::int64_t r = first_row + row;
    if (r >= rows || count <= 0) continue;
    const std::uint8_t* const from = values + r * columns + c;
    if (aligned_rows) {
      tile[fp8_tile_piece(row, piece)] = *reinterpret_cast<const uint4*>(from);
    } else {
      auto* const bytes = reinterpret_cast<std::uint8_t*>(tile + fp8_tile_piece(row, piece));
      for (int j = 0; j < count; ++j) bytes[j] = from[j];
    }
  }
  store_transposed(to, tile, first_row, first_column, rows, columns, aligned_columns);
}

}  // namespace

cudaError_t transpose_fp8(std::uint8_t* to, const std::uint8_t* values, std::int64_t rows,
                          std::int64_t columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return cudaSuccess;
  const auto tiles = [](std::int64_t n) {
    return static_cast<unsigned>((n + fp8_tile - 1) / fp8_tile);
  };
  if (tiles(rows) > 65535) return cudaErrorInvalidValue;
  transpose_fp8_kernel<<<dim3(tiles(columns), tiles(rows)), fp8_threads, 0, stream>>>(
      to, values, rows, columns, aligned16(values) && columns % fp8_piece == 0,
      aligned16(to) && rows % fp8_piece == 0);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
