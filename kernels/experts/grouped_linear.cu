// Products of experts by the tensor cores: mma.m16n8k16 with sums of fp32, operands in a ring of
// tiles in shared memory that cp.async fills (PTX ISA, "Matrix Fragments for mma.m16n8k16").
#include "kernels/attention/tiles16.cuh"
#include "kernels/copy_async.cuh"
#include "kernels/eight.cuh"
#include "kernels/experts/grouped_fp32.hpp"
#include "kernels/experts/grouped_products.hpp"
#include "kernels/experts/grouped_search.cuh"
#include "kernels/launch.hpp"
#include "kernels/shared_memory.hpp"
#include <type_traits>

namespace trainx::kernels {
namespace grouped {
namespace {

/// Warps of 64 x 64 sums each.
template <int warp_rows, int warp_columns, int blocks_at_once>
struct Tiling {
  static constexpr int across = warp_columns, warps = warp_rows * warp_columns,
                       threads = 32 * warps, rows = 64 * warp_rows, columns = 64 * warp_columns,
                       stages = 4, blocks = blocks_at_once;
  static constexpr int left_bytes = rows * depth * 2, right_bytes = columns * depth * 2,
                       stage_bytes = left_bytes + right_bytes, bytes = stages * stage_bytes;
  static_assert(bytes <= least_shared_bytes, "each GPU has as much");
  static_assert(warps * 64 * 64 * 2 <= bytes, "results are staged where operands were");
};
using Wide = Tiling<2, 4, 1>;
using Narrow = Tiling<2, 2, 2>;

/// Copies a tile, zeros beyond `others` beside the sum and beyond `inside` along it. `from`: its
/// first element. Not aligned: the copy is done when the function is.
template <Layout layout, int width, int threads, bool aligned, class T>
__device__ __forceinline__ void copy_tile(unsigned char* to, const T* from, std::int64_t ld,
                                          std::int64_t others, std::int64_t inside) {
  constexpr int pieces = width * pieces_along;
  static_assert(pieces % threads == 0, "each thread copies as many");
  const std::int64_t rows = layout == Layout::along ? others : inside,
                     columns = layout == Layout::along ? inside : others;
#pragma unroll
  for (int i = 0; i < pieces / threads; ++i) {
    const PieceAt p = piece_at<layout, width>(static_cast<int>(threadIdx.x) + i * threads);
    const std::int64_t left = p.row < rows ? columns - p.column * piece : 0;
    unsigned char* const place = to + place_of<layout, width>(p) * 16;
    if constexpr (aligned) {
      const T* const at = from + p.row * ld + p.column * piece;
      copy16_or_zeros_async(place, left > 0 ? at : from, left > 0);
    } else {
      const int count = static_cast<int>(left < 0 ? 0 : left > piece ? piece : left);
      const T* const at = from + (count > 0 ? p.row * ld + p.column * piece : 0);
      *reinterpret_cast<uint4*>(place) = load8<false>(at, count).at[0];
    }
  }
}

/// A warp's fragments of 16 along the sum.
template <Layout left, Layout right, class Tiling>
struct Fragments {
  std::uint32_t a[4][4], b[4][4];
  __device__ __forceinline__ void load(const unsigned char* stage, int k, int warp, int lane) {
    const int row = warp / Tiling::across * 64, column = warp % Tiling::across * 64;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned char* const from =
          stage + 16 * place_of<left, Tiling::rows>(left_piece<left>(row + 16 * i, k, lane));
      if constexpr (left == Layout::along)
        tiles::load_matrices(a[i], from);
      else
        tiles::load_transposed(a[i], from);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned char* const from =
          stage + Tiling::left_bytes +
          16 * place_of<right, Tiling::columns>(right_piece<right>(column + 16 * j, k, lane));
      if constexpr (right == Layout::along)
        tiles::load_matrices(b[j], from);
      else
        tiles::load_transposed(b[j], from);
    }
  }
};

/// 16-bit results in whole pieces, by way of shared memory: a warp stores 128 bytes of 4 rows at
/// once.
template <class T>
__device__ __forceinline__ void store_staged(unsigned char* staged, const float (&sums)[4][8][4],
                                             T* c, std::int64_t ldc, std::int64_t rows,
                                             std::int64_t columns, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<std::uint32_t*>(staged + 16 * staged_place(16 * i + 8 * half + g, j) +
                                          4 * t) =
            narrow_pair(sums[i][j][2 * half], sums[i][j][2 * half + 1], T{});
  __syncwarp();
  const int column = lane % 8;
#pragma unroll 4
  for (int s = 0; s < 16; ++s) {
    const int row = 4 * s + lane / 8;
    if (row < rows && column * piece < columns)
      *reinterpret_cast<uint4*>(c + row * ldc + column * piece) =
          *reinterpret_cast<const uint4*>(staged + 16 * staged_place(row, column));
  }
}

/// Results as they lie in the registers. Pairs: two columns are one access.
template <bool pairs, class Result>
__device__ __forceinline__ void store_sums(const float (&sums)[4][8][4], Result* c,
                                           std::int64_t ldc, std::int64_t rows,
                                           std::int64_t columns, bool accumulate, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 16 * i + 8 * half + g;
      if (row >= rows) continue;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int column = 8 * j + 2 * t;
        Result* const at = c + row * ldc + column;
        float x = sums[i][j][2 * half], y = sums[i][j][2 * half + 1];
        if constexpr (pairs && std::is_same_v<Result, float>) {
          if (column >= columns) continue;
          if (accumulate) {
            const float2 there = *reinterpret_cast<const float2*>(at);
            x += there.x, y += there.y;
          }
          *reinterpret_cast<float2*>(at) = make_float2(x, y);
        } else {
          if (column < columns) narrow(accumulate ? x + widened(at[0]) : x, at[0]);
          if (column + 1 < columns) narrow(accumulate ? y + widened(at[1]) : y, at[1]);
        }
      }
    }
}

template <class Tiling, Layout left, Layout right, Cut cut, bool aligned, class T, class Result>
__global__ void __launch_bounds__(Tiling::threads, Tiling::blocks)
    grouped_gemm_kernel(Products<T, Result> p) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  std::int64_t block = blockIdx.x;
  int expert = 0;
  if constexpr (cut == Cut::sum) {
    const std::int64_t each = static_cast<std::int64_t>(p.row_tiles) * p.column_tiles;
    expert = static_cast<int>(block / each);
    block %= each;
  }
  const TileAt tile = tile_at(block, p.row_tiles, p.column_tiles);
  const std::int64_t first_column = static_cast<std::int64_t>(tile.column) * Tiling::columns,
                     columns = p.n - first_column;
  // A's first element, B's, C's row; what there is of rows and of the sum
  std::int64_t first_row = static_cast<std::int64_t>(tile.row) * Tiling::rows,
               rows = p.m - first_row, k = p.k;
  const T *a = p.a, *b = p.b;
  Result* c = p.c;
  if constexpr (cut == Cut::rows) {
    RowRange range;
    if (!find_rows<Tiling::rows>(p.offsets, p.experts, tile.row, range)) return;
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
  a += left == Layout::along ? first_row * p.lda : first_row;
  b += right == Layout::along ? first_column * p.ldb : first_column;
  c += first_row * p.ldc + first_column;
  const std::int64_t a_step = left == Layout::along ? depth : depth * p.lda,
                     b_step = right == Layout::along ? depth : depth * p.ldb;
  const int steps = static_cast<int>((k + depth - 1) / depth);

  int filled = 0;  // steps whose operands are on their way
  const auto fill = [&] {
    if (filled < steps) {
      unsigned char* const stage = shared + filled % Tiling::stages * Tiling::stage_bytes;
      copy_tile<left, Tiling::rows, Tiling::threads, aligned>(stage, a, p.lda, rows, k);
      copy_tile<right, Tiling::columns, Tiling::threads, aligned>(stage + Tiling::left_bytes, b,
                                                                  p.ldb, columns, k);
      a += a_step;
      b += b_step;
      k -= depth;
    }
    ++filled;
    commit_copies();  // an empty batch counts, too
  };
#pragma unroll
  for (int s = 0; s < Tiling::stages - 1; ++s) fill();

  float sums[4][8][4] = {};
  Fragments<left, right, Tiling> fragments[2];
  wait_for_copies<Tiling::stages - 2>();
  __syncthreads();
  if (steps > 0) fragments[0].load(shared, 0, warp, lane);
  for (int step = 0; step < steps; ++step) {
    const unsigned char* const stage = shared + step % Tiling::stages * Tiling::stage_bytes;
    fragments[1].load(stage, 16, warp, lane);
    // into the stage of the step before, which all warps had read when they met last
    fill();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (half == 1) {
        wait_for_copies<Tiling::stages - 2>();
        __syncthreads();
        if (step + 1 < steps)
          fragments[0].load(shared + (step + 1) % Tiling::stages * Tiling::stage_bytes, 0, warp,
                            lane);
      }
      const auto& f = fragments[half];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          tiles::multiply(sums[i][2 * j], f.a[i], f.b[j][0], f.b[j][1], T{});
          tiles::multiply(sums[i][2 * j + 1], f.a[i], f.b[j][2], f.b[j][3], T{});
        }
    }
  }

  const int row = warp / Tiling::across * 64, column = warp % Tiling::across * 64;
  c += row * p.ldc + column;
  if constexpr (aligned && sizeof(Result) == 2) {
    wait_for_copies<0>();
    __syncthreads();  // no warp reads operands any more
    store_staged(shared + warp * (64 * 64 * 2), sums, c, p.ldc, rows - row, columns - column, lane);
  } else {
    store_sums<aligned>(sums, c, p.ldc, rows - row, columns - column, p.accumulate, lane);
  }
}

template <class Tiling, Layout left, Layout right, Cut cut, bool aligned, class T, class Result>
cudaError_t launch(Products<T, Result> p, cudaStream_t stream) {
  const std::int64_t blocks = blocks_of<cut>(p, Tiling::rows, Tiling::columns);
  if (blocks == 0) return cudaErrorInvalidValue;
  const auto kernel = grouped_gemm_kernel<Tiling, left, right, cut, aligned, T, Result>;
  if (const cudaError_t error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tiling::bytes);
      error != cudaSuccess)
    return error;
  kernel<<<static_cast<unsigned>(blocks), Tiling::threads, Tiling::bytes, stream>>>(p);
  return cudaGetLastError();
}

/// Wide tiles read less; narrow ones are more, and waste less of a result's last columns.
template <Cut cut, class P>
cudaError_t takes_wide(const P& p, bool& wide) {
  int multiprocessors = 0;
  if (const cudaError_t error = multiprocessors_of_device(multiprocessors); error != cudaSuccess)
    return error;
  const auto in_tiles = [](std::int64_t n, std::int64_t of) { return (n + of - 1) / of; };
  const std::int64_t tiles = in_tiles(p.m, Wide::rows) * in_tiles(p.n, Wide::columns) *
                             (cut == Cut::sum ? p.experts : 1),
                     wasted = in_tiles(p.n, Wide::columns) * Wide::columns -
                              in_tiles(p.n, Narrow::columns) * Narrow::columns;
  wide = tiles >= 2 * multiprocessors && 8 * wasted <= p.n;
  return cudaSuccess;
}

template <Layout left, Layout right, Cut cut, class T, class Result>
cudaError_t multiply(const Products<T, Result>& p, cudaStream_t stream) {
  const bool aligned = aligned16(p.a) && aligned16(p.b) && aligned16(p.c) && p.lda % piece == 0 &&
                       p.ldb % piece == 0 && p.ldc % piece == 0;
  if (!aligned) return launch<Narrow, left, right, cut, false>(p, stream);
  bool wide = false;
  if (const cudaError_t error = takes_wide<cut>(p, wide); error != cudaSuccess) return error;
  return wide ? launch<Wide, left, right, cut, true>(p, stream)
              : launch<Narrow, left, right, cut, true>(p, stream);
}

}  // namespace
}  // namespace grouped

using grouped::Cut;
using grouped::Layout;

template <class T>
cudaError_t grouped_linear(const GroupedLinear<T>& op, cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (!grouped::is_launchable(s)) return cudaErrorInvalidValue;
  if (s.rows == 0 || s.out == 0) return cudaSuccess;
  const auto p = grouped::products_of(op);
  if constexpr (std::is_same_v<T, float>)
    return grouped::multiply_fp32<Layout::along, Layout::along, Cut::rows>(p, stream);
  else
    return grouped::multiply<Layout::along, Layout::along, Cut::rows>(p, stream);
}

template <class T>
cudaError_t grouped_linear_backward_input(const GroupedLinearBackwardInput<T>& op,
                                          cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (!grouped::is_launchable(s)) return cudaErrorInvalidValue;
  if (s.rows == 0 || s.in == 0) return cudaSuccess;
  const auto p = grouped::products_of(op);
  if constexpr (std::is_same_v<T, float>)
    return grouped::multiply_fp32<Layout::along, Layout::across, Cut::rows>(p, stream);
  else
    return grouped::multiply<Layout::along, Layout::across, Cut::rows>(p, stream);
}

template <class T>
cudaError_t grouped_linear_backward_weight(const GroupedLinearBackwardWeight<T>& op,
                                           cudaStream_t stream) {
  const GroupedSizes& s = op.sizes;
  if (!grouped::is_launchable(s)) return cudaErrorInvalidValue;
  if (s.in == 0 || s.out == 0 || s.experts == 0) return cudaSuccess;
  const auto p = grouped::products_of(op);
  if constexpr (std::is_same_v<T, float>)
    return grouped::multiply_fp32<Layout::across, Layout::across, Cut::sum>(p, stream);
  else
    return grouped::multiply<Layout::across, Layout::across, Cut::sum>(p, stream);
}

#define TRAINX_GROUPED(T)                                                                    \
  template cudaError_t grouped_linear(const GroupedLinear<T>&, cudaStream_t);                \
  template cudaError_t grouped_linear_backward_input(const GroupedLinearBackwardInput<T>&,   \
                                                     cudaStream_t);                          \
  template cudaError_t grouped_linear_backward_weight(const GroupedLinearBackwardWeight<T>&, \
                                                      cudaStream_t);
TRAINX_GROUPED(float)
TRAINX_GROUPED(Bf16)
TRAINX_GROUPED(Fp16)
#undef TRAINX_GROUPED

}  // namespace trainx::kernels
