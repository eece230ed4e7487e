#include "kernels/eight.cuh"
#include "kernels/quantize/column_sums.cuh"
#include "kernels/quantize/fp8_cast.cuh"
#include "kernels/quantize/fp8_source.cuh"
#include "kernels/quantize/quantize_blocks.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = fp8_threads, pieces = fp8_pieces,
              passes = fp8_tile * fp8_pieces / fp8_threads;
static_assert(fp8_tile == fp8_block);
/// A tile of 128 rows of 128 bf16 elements in shared memory, two in a word. A warp reads 8 words of
/// each of four groups of 32 rows at once: pieces are exchanged by the group, so that its threads
/// meet in no bank.
constexpr int tile_words = fp8_tile / 2, words_of_piece = fp8_piece / 2, groups = 4,
              group_rows = fp8_tile / groups;
__device__ __forceinline__ int tile_word(int row, int word) {
  return row * tile_words + (word ^ words_of_piece * (row / group_rows));
}

__device__ __forceinline__ std::uint32_t magnitude(float x) {
  return __float_as_uint(x) & 0x7fffffffu;
}

/// Two elements of bf16.
__device__ __forceinline__ void unpack(std::uint32_t pair, float& low, float& high) {
  low = __uint_as_float(pair << 16);
  high = __uint_as_float(pair & 0xffff0000u);
}

/// Of all threads of the block, in each of them.
__device__ __forceinline__ std::uint32_t shared_largest(std::uint32_t most) {
  __shared__ std::uint32_t of_all;
  most = largest_of_block(most);
  if (threadIdx.x == 0) of_all = most;
  __syncthreads();
  return of_all;  // written again behind the barriers of largest_of_block
}

/// The scale of block (row, column), and zeros behind the last one of its row.
__device__ __forceinline__ void put_block_scale(float* scales, float scale, std::int64_t row,
                                                std::int64_t column, std::int64_t columns) {
  const std::int64_t all = fp8_scales_of_block_row(columns);
  scales[row * all + column] = scale;
  if (column + 1 != fp8_blocks(columns)) return;
  for (std::int64_t c = column + 1; c < all; ++c) scales[row * all + c] = 0;
}

/// Block (x, y) makes the tiles of 128 x 128 in column x, each gridDim.y-th from y on; x is read
/// once. `square`: a tile has one scale. `aligned`: x and values are at 16 bytes, and columns a
/// multiple of 16; `aligned_columns`: the same of transposed and rows.
template <bool square, class Source, bool aligned>
__global__ void __launch_bounds__(threads, 3)
    quantize_blocks_kernel(Source source, BlockQuantization<Bf16> op, ColumnSums column_sums,
                           bool aligned_columns) {
  constexpr Fp8Format e4m3 = Fp8Format::e4m3;
  __shared__ uint4 tile[fp8_tile * tile_words / 4];
  auto* const words = reinterpret_cast<std::uint32_t*>(tile);
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * fp8_tile,
                     tiles_down = fp8_blocks(op.rows);
  const int piece = static_cast<int>(threadIdx.x) % pieces;
  const std::int64_t own_column = first_column + piece * fp8_piece;
  const int own_count = in_piece(own_column, op.columns);
  // of the transposed copy: two columns, a quarter of the rows
  const int group = static_cast<int>(threadIdx.x) % groups,
            word = static_cast<int>(threadIdx.x) / groups;
  const bool by_columns = op.transposed || column_sums.sums;
  const std::int64_t pair_column = first_column + 2 * word;
  float sums[2] = {};
  Counted counted;
  for (std::int64_t t = blockIdx.y; t < tiles_down; t += gridDim.y) {
    const std::int64_t first_row = t * fp8_tile;
    const auto row_of = [](int pass) {
      return (static_cast<int>(threadIdx.x) + pass * threads) / pieces;
    };
    const auto put_values = [&](const float(&x)[fp8_piece], const Extremes& extremes, int row,
                                float inverse) {
      const uint4 made = sixteen_in_fp8<e4m3>(x, inverse, inverse == inverse);
      count_piece<e4m3>(x, extremes, inverse, counted);
      const std::int64_t r = first_row + row;
      if (op.values && r < op.rows)
        store_bytes(op.values + r * op.columns + own_column, made, own_count, aligned);
    };
    std::uint32_t most_of_tile = 0;
#pragma unroll(Source::ahead)
    for (int i = 0; i < passes; ++i) {
      const int row = row_of(i);
      const std::int64_t r = first_row + row;
      float x[fp8_piece];
      const auto piece_of_row =
          source.make(source.template load<aligned>(r * op.columns + own_column, r,
                                                    r < op.rows ? own_count : 0),
                      x);
      const Extremes extremes = extremes16(piece_of_row);
      std::uint32_t most = extremes.most;
      if (square || by_columns) {
        uint4* const to = tile + tile_word(row, piece * words_of_piece) / 4;
        to[0] = piece_of_row.low.at[0];
        to[1] = piece_of_row.high.at[0];
      }
      if constexpr (square) {
        most_of_tile = larger(most_of_tile, most);
      } else {
        // over the eight pieces of the row, which neighbouring threads have
#pragma unroll
        for (int offset = pieces / 2; offset > 0; offset /= 2)
          most = larger(most, __shfl_xor_sync(0xffffffffu, most, offset));
        const float scale = fp8_block_scale(most, e4m3);
        if (op.values && piece == 0 && r < op.rows)
          op.scales[static_cast<std::int64_t>(blockIdx.x) * op.rows + r] = scale;
        put_values(x, extremes, row, fp8_inverse(scale));
      }
    }
    float tile_inverse = 0;
    if constexpr (square) {
      const float scale = fp8_block_scale(shared_largest(most_of_tile), e4m3);
      tile_inverse = fp8_inverse(scale);
      if (threadIdx.x == 0 && op.values)
        put_block_scale(op.scales, scale, t, blockIdx.x, op.columns);
      if (threadIdx.x == 0 && op.transposed)
        put_block_scale(op.transposed_scales, scale, blockIdx.x, t, op.rows);
      if (op.values || op.counts) {
#pragma unroll 1
        for (int i = 0; i < passes; ++i) {
          const int row = row_of(i);
          const uint4* const from = tile + tile_word(row, piece * words_of_piece) / 4;
          const Sixteen<Bf16> piece_of_row{{from[0]}, {from[1]}};
          float x[fp8_piece];
          widen16(piece_of_row, x);
          put_values(x, extremes16(piece_of_row), row, tile_inverse);
        }
      }
    }
    if (!by_columns) {
      if constexpr (square) __syncthreads();  // others may still read the tile
      continue;
    }
    __syncthreads();
    const auto pair_at = [&](int k) { return words[tile_word(group * group_rows + k, word)]; };
    float inverse[2] = {tile_inverse, tile_inverse};
    if constexpr (!square) {
      std::uint32_t most[2] = {};
#pragma unroll
      for (int k = 0; k < group_rows; ++k) {
        float low, high;
        unpack(pair_at(k), low, high);
        sums[0] += low, sums[1] += high;
        most[0] = larger(most[0], magnitude(low));
        most[1] = larger(most[1], magnitude(high));
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
#pragma unroll
        for (int offset = groups / 2; offset > 0; offset /= 2)
          most[j] = larger(most[j], __shfl_xor_sync(0xffffffffu, most[j], offset));
        const float scale = fp8_block_scale(most[j], e4m3);
        inverse[j] = fp8_inverse(scale);
        if (op.transposed && group == 0 && pair_column + j < op.columns)
          op.transposed_scales[t * op.columns + pair_column + j] = scale;
      }
    }
    if (op.transposed) {
#pragma unroll 1
      for (int k = 0; k < group_rows; k += fp8_piece) {
        float x[2][fp8_piece];
#pragma unroll
        for (int i = 0; i < fp8_piece; ++i) unpack(pair_at(k + i), x[0][i], x[1][i]);
        const std::int64_t r = first_row + group * group_rows + k;
        const int count = in_piece(r, op.rows);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const uint4 made = sixteen_in_fp8<e4m3>(x[j], inverse[j], inverse[j] == inverse[j]);
          if (pair_column + j < op.columns)
            store_bytes(op.transposed + (pair_column + j) * op.rows + r, made, count,
                        aligned_columns);
        }
      }
    }
    __syncthreads();  // others may still read the tile
  }
  if (op.counts) add_counts(op.counts, counted, op.rows * op.columns);
  if constexpr (!square) {
    if (!column_sums.sums) return;

      // over the groups of rows
#pragma unroll
    for (int offset = groups / 2; offset > 0; offset /= 2) {
      sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], offset);
      sums[1] += __shfl_xor_sync(0xffffffffu, sums[1], offset);
    }
    if (group > 0) return;
    column_sums.leave(blockIdx.y, pair_column, sums[0]);
    column_sums.leave(blockIdx.y, pair_column + 1, sums[1]);
  }
}

template <bool square, bool aligned, class Source>
cudaError_t launch(const Source& source, const BlockQuantization<Bf16>& op,
                   const FoldMemory& memory, cudaStream_t stream) {
  const std::int64_t down = fp8_blocks(op.rows), across = fp8_blocks(op.columns);
  const auto kernel = quantize_blocks_kernel<square, Source, aligned>;
  dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(down < 65535 ? down : 65535));
  if (op.column_sums)
    if (const cudaError_t error = blocks_down(kernel, down, across, fp8_most_slabs, grid.y);
        error != cudaSuccess)
      return error;
  const ColumnSums sums{op.column_sums, op.columns, op.accumulate,
                        grid.y > 1 ? memory.partial : nullptr};
  kernel<<<grid, threads, 0, stream>>>(source, op, sums,
                                       aligned16(op.transposed) && op.rows % fp8_piece == 0);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? add_slabs(sums, grid.y, stream) : error;
}

template <bool aligned>
cudaError_t launch_plain(const BlockQuantization<Bf16>& op, const FoldMemory& memory,
                         cudaStream_t stream) {
  const PlainSource<Bf16> source{op.x};
  if (op.granularity == Fp8Granularity::block)
    return op.column_sums ? cudaErrorInvalidValue
                          : launch<true, aligned>(source, op, memory, stream);
  return launch<false, aligned>(source, op, memory, stream);
}

}  // namespace

cudaError_t quantize_blocks(const BlockQuantization<Bf16>& op, const FoldMemory& memory,
                            cudaStream_t stream) {
  if (op.granularity == Fp8Granularity::tensor) return cudaErrorInvalidValue;
  if (op.rows * op.columns == 0)
    return op.column_sums && !op.accumulate && op.columns > 0
               ? cudaMemsetAsync(op.column_sums, 0,
                                 static_cast<std::size_t>(op.columns) * sizeof(float), stream)
               : cudaSuccess;
  const bool aligned = aligned16(op.x) && aligned16(op.pre) && aligned16(op.values) &&
                       op.columns % fp8_piece == 0;
  if (op.source == Fp8Source::plain)
    return aligned ? launch_plain<true>(op, memory, stream)
                   : launch_plain<false>(op, memory, stream);
  if (!aligned || op.granularity != Fp8Granularity::vector) return cudaErrorInvalidValue;
  const auto cast = [&](const auto& source) {
    return launch<false, true>(source, op, memory, stream);
  };
  using Tanh = TanhCdf<Bf16>;
  using Erf = ErfCdf<Bf16>;
  switch (op.source) {
    case Fp8Source::gelu_tanh: return cast(GeluSource<Bf16, Tanh>{op.x});
    case Fp8Source::gelu_erf: return cast(GeluSource<Bf16, Erf>{op.x});
    case Fp8Source::gated_silu:
      return cast(GatedSource<Bf16, ActivationKind::silu>{op.x, op.columns});
    case Fp8Source::gated_gelu_tanh:
      return cast(GatedSource<Bf16, ActivationKind::gelu_tanh>{op.x, op.columns});
    case Fp8Source::gelu_tanh_gradient: return cast(GeluGradientSource<Bf16, Tanh>{op.x, op.pre});
    case Fp8Source::gelu_erf_gradient: return cast(GeluGradientSource<Bf16, Erf>{op.x, op.pre});
    case Fp8Source::gated_silu_gradient:
      return cast(GatedGradientSource<Bf16, ActivationKind::silu>{op.x, op.pre, op.columns});
    case Fp8Source::gated_gelu_tanh_gradient:
      return cast(GatedGradientSource<Bf16, ActivationKind::gelu_tanh>{op.x, op.pre, op.columns});
    case Fp8Source::plain: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace trainx::kernels
