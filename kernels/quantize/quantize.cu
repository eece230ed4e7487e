#include "kernels/eight.cuh"
#include "kernels/fold.cuh"
#include "kernels/launch.hpp"
#include "kernels/meeting.cuh"
#include "kernels/quantize/column_sums.cuh"
#include "kernels/quantize/fp8_cast.cuh"
#include "kernels/quantize/fp8_source.cuh"
#include "kernels/quantize/quantize.hpp"
#include <algorithm>
#include <type_traits>

namespace trainx::kernels {
namespace {

constexpr int threads = fp8_threads;
constexpr int blocks_per_multiprocessor = 8;
// bounds the partial results without knowing the GPU
constexpr std::int64_t most_blocks = 4096;

/// The largest magnitude of each `step`-th piece from element `first` on, by its bits: NaNs have
/// larger ones than infinity, which has larger ones than all numbers.
template <bool aligned, class Source>
__device__ __forceinline__ std::uint32_t largest_of_pieces(const Source& source, std::int64_t first,
                                                           std::int64_t step, std::int64_t elements,
                                                           std::int64_t columns) {
  std::uint32_t most = 0;
#pragma unroll 2
  for (std::int64_t i = first; i < elements; i += step) {
    const int count = in_piece(i, elements);
    float x[fp8_piece];
    // the last piece may be cut short
    const std::int64_t row = Source::by_row ? i / columns : 0;
    const auto piece = source.make(aligned && count == fp8_piece
                                       ? source.template load<true>(i, row, fp8_piece)
                                       : source.template load<false>(i, row, count),
                                   x);
    most = larger(most, extremes16(piece).most);
  }
  return most;
}

/// The last block makes the scale of what all have found.
template <class Source, bool aligned>
__global__ void __launch_bounds__(threads)
    quantize_scale_kernel(Source source, std::int64_t elements, std::int64_t columns,
                          Fp8Format format, float* scale, const double* known, FoldMemory memory) {
  if (known && *known > 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *scale = fp8_scale_of_range(*known, format);
    return;
  }
  auto* const partial = reinterpret_cast<std::uint32_t*>(memory.partial);
  constexpr std::int64_t of_block = threads * fp8_piece;
  std::uint32_t most = largest_of_pieces<aligned>(source,
                                                  blockIdx.x * of_block + threadIdx.x * fp8_piece,
                                                  gridDim.x * of_block, elements, columns);
  most = largest_of_block(most);
  if (threadIdx.x == 0) partial[blockIdx.x] = most;
  if (!last_to_arrive(memory.counters, gridDim.x)) return;
  most = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += threads)
    most = larger(most, __ldcg(partial + b));
  most = largest_of_block(most);
  if (threadIdx.x == 0) *scale = fp8_scale(most, format);
}

/// Of the blocks of a launch that find a scale together: as many as run at the same time.
struct ScaleMeeting {
  std::uint32_t* words;
  unsigned blocks;
};

/// The scale of a tensor whose range is not known yet, which blocks find together: once in a run,
/// so that all other steps are spared a launch.
template <bool aligned, class Source>
__device__ __noinline__ float first_scale(Source source, std::int64_t elements,
                                          std::int64_t columns, Fp8Format format,
                                          const ScaleMeeting& meeting) {
  constexpr std::int64_t of_block = threads * fp8_piece;
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x,
                     own = threadIdx.x * fp8_piece;
  std::uint32_t most = 0;
  if (block < meeting.blocks)
    most = largest_of_block(largest_of_pieces<aligned>(
        source, block * of_block + own, meeting.blocks * of_block, elements, columns));
  if (!largest_of_launch(meeting.words, meeting.blocks, most))
    most = largest_of_block(largest_of_pieces<aligned>(source, own, of_block, elements, columns));
  __shared__ float scale;
  if (threadIdx.x == 0) scale = fp8_scale(most, format);
  __syncthreads();
  return scale;
}

static_assert(fold_counters + meeting_words <= fold_words);

/// Does the kernel that casts make the scale as well?
template <class T>
__host__ __device__ bool finds_scale(const Quantization<T>& op) {
  return op.known && !op.scale_is_made;
}

/// Those of output gradients are the gradient of a bias.
template <Fp8Format format>
constexpr bool sums_columns = format == Fp8Format::e5m2;

/// Block (x, y) makes the tiles of 128 x 128 in column x, each gridDim.y-th from y on. `aligned`: x
/// and values are at 16 bytes, and columns a multiple of 16; `aligned_columns`: the same of
/// transposed and rows.
template <Fp8Format format, class T, class Source, bool aligned>
__global__ void __launch_bounds__(threads, 2)
    quantize_values_kernel(Source source, Quantization<T> op, ColumnSums column_sums,
                           bool aligned_columns, ScaleMeeting meeting) {
  __shared__ uint4 tile[fp8_tile * fp8_pieces];
  constexpr int warps = threads / 32, passes = fp8_tile * fp8_pieces / threads;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * fp8_tile,
                     tiles_down = (op.rows + fp8_tile - 1) / fp8_tile;
  const int piece = static_cast<int>(threadIdx.x) % fp8_pieces;
  const std::int64_t own_column = first_column + piece * fp8_piece;
  const int own_count = in_piece(own_column, op.columns);
  float scale;
  if (finds_scale(op)) {
    const double known = *op.known;
    scale = known > 0
                ? fp8_scale_of_range(known, format)
                : first_scale<aligned>(source, op.rows * op.columns, op.columns, format, meeting);
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *op.scale = scale;
  } else {
    scale = *op.scale;
  }
  const float inverse = fp8_inverse(scale);
  float sums[fp8_piece] = {};
  Counted counted;
  constexpr bool next_tile = Source::fetching == Fetching::next_tile,
                 whole_tile = Source::fetching != Fetching::pieces;
  const auto row_of = [](int pass) {
    return (static_cast<int>(threadIdx.x) + pass * threads) / fp8_pieces;
  };
  typename Source::Fetched fetched[whole_tile ? passes : 1];
  const auto fetch = [&](std::int64_t t) {
#pragma unroll
    for (int i = 0; i < passes; ++i) {
      const std::int64_t r = t * fp8_tile + row_of(i);
      fetched[whole_tile ? i : 0] = source.template load<aligned>(r * op.columns + own_column, r,
                                                                  r < op.rows ? own_count : 0);
    }
  };
  if constexpr (next_tile) fetch(blockIdx.y);
  for (std::int64_t t = blockIdx.y; t < tiles_down; t += gridDim.y) {
    const std::int64_t first_row = t * fp8_tile;
    if constexpr (whole_tile && !next_tile) fetch(t);
#pragma unroll
    for (int i = 0; i < passes; ++i) {
      const int row = row_of(i);
      const std::int64_t r = first_row + row, begin = r * op.columns + own_column;
      const int count = r < op.rows ? own_count : 0;
      float x[fp8_piece];
      if constexpr (!whole_tile) fetched[0] = source.template load<aligned>(begin, r, count);
      const Extremes extremes = extremes16(source.make(fetched[whole_tile ? i : 0], x));
      const uint4 made =
          sixteen_in_fp8<format>(x, inverse, extremes.most < 0x7f800000u && inverse == inverse);
      count_piece<format>(x, extremes, inverse, counted);
      if constexpr (sums_columns<format>) {
#pragma unroll
        for (int j = 0; j < fp8_piece; ++j) sums[j] += x[j];
      }
      if (op.values) store_bytes(op.values + begin, made, count, aligned);
      if (op.transposed) tile[fp8_tile_piece(row, piece)] = made;
    }
    if constexpr (next_tile)
      if (t + gridDim.y < tiles_down) fetch(t + gridDim.y);
    if (op.transposed)
      store_transposed(op.transposed, tile, first_row, first_column, op.rows, op.columns,
                       aligned_columns);
  }
  if (op.counts) add_counts(op.counts, counted, op.rows * op.columns);
  if (op.exponents) {
    const std::uint32_t most = largest_of_block(counted.most);
    if (threadIdx.x == 0 && most > 0) atomicAdd(op.exponents + fp8_exponent(most), 1.0);
  }
  if (!sums_columns<format> || !column_sums.sums) return;

  // over the rows of a warp, then of the block
  auto* const of_warps = reinterpret_cast<float*>(tile);  // [warps][fp8_tile]
  static_assert(sizeof tile >= sizeof(float) * warps * fp8_tile);
  static_assert(fp8_tile <= threads && 32 % fp8_pieces == 0);
#pragma unroll
  for (int j = 0; j < fp8_piece; ++j) {
#pragma unroll
    for (int offset = 16; offset >= fp8_pieces; offset /= 2)
      sums[j] += __shfl_xor_sync(0xffffffffu, sums[j], offset);
  }
  __syncthreads();  // others may still read the tile
  if (threadIdx.x % 32 < fp8_pieces) {
#pragma unroll
    for (int j = 0; j < fp8_piece; ++j)
      of_warps[threadIdx.x / 32 * fp8_tile + piece * fp8_piece + j] = sums[j];
  }
  __syncthreads();
  if (threadIdx.x >= fp8_tile) return;
  float total = 0;
  for (int w = 0; w < warps; ++w) total += of_warps[w * fp8_tile + threadIdx.x];
  column_sums.leave(blockIdx.y, first_column + threadIdx.x, total);
}

template <Fp8Format format, class T, class Source, bool aligned>
cudaError_t launch_tiles(const Source& source, const Quantization<T>& op, const FoldMemory& memory,
                         cudaStream_t stream) {
  const std::int64_t down = (op.rows + fp8_tile - 1) / fp8_tile,
                     across = (op.columns + fp8_tile - 1) / fp8_tile;
  const auto kernel = quantize_values_kernel<format, T, Source, aligned>;
  dim3 grid(static_cast<unsigned>(across));
  unsigned at_once = 0;
  for (const cudaError_t error :
       {blocks_at_once(kernel, at_once),
        blocks_down(kernel, down, across, op.column_sums ? fp8_most_slabs : fp8_most_blocks,
                    grid.y)})
    if (error != cudaSuccess) return error;
  const ColumnSums sums{op.column_sums, op.columns, op.accumulate,
                        grid.y > 1 ? memory.partial : nullptr};
  kernel<<<grid, threads, 0, stream>>>(
      source, op, sums, aligned16(op.transposed) && op.rows % fp8_piece == 0,
      ScaleMeeting{memory.counters + fold_counters, std::min(at_once, grid.x * grid.y)});
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? add_slabs(sums, grid.y, stream) : error;
}

/// Is anything left to make once the scale is known?
template <class T>
bool casts(const Quantization<T>& op) {
  return op.rows * op.columns > 0 && (op.values || op.transposed || op.column_sums);
}

template <class T, class Source, bool aligned>
cudaError_t launch_scale(const Source& source, const Quantization<T>& op, const FoldMemory& memory,
                         cudaStream_t stream) {
  if (op.scale_is_made || (finds_scale(op) && casts(op))) return cudaSuccess;
  const std::int64_t elements = op.rows * op.columns, of_block = fp8_piece * threads,
                     work = elements > 0 ? (elements + of_block - 1) / of_block : 1;
  unsigned blocks = 0;
  if (const cudaError_t error =
          blocks_for(work < most_blocks ? work : most_blocks, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  quantize_scale_kernel<Source, aligned><<<blocks, threads, 0, stream>>>(
      source, elements, op.columns, op.format, op.scale, op.known, memory);
  return cudaGetLastError();
}

template <class T>
bool is_aligned(const Quantization<T>& op) {
  return aligned16(op.x) && aligned16(op.pre) && aligned16(op.values) &&
         op.columns % fp8_piece == 0;
}

template <class T, bool aligned>
cudaError_t launch_plain(const Quantization<T>& op, const FoldMemory& memory, cudaStream_t stream) {
  const PlainSource<T> source{op.x};
  const cudaError_t error =
      aligned16(op.x) ? launch_scale<T, PlainSource<T>, true>(source, op, memory, stream)
                      : launch_scale<T, PlainSource<T>, false>(source, op, memory, stream);
  if (error != cudaSuccess || !casts(op)) return error;
  return op.format == Fp8Format::e4m3
             ? launch_tiles<Fp8Format::e4m3, T, PlainSource<T>, aligned>(source, op, memory, stream)
             : launch_tiles<Fp8Format::e5m2, T, PlainSource<T>, aligned>(source, op, memory,
                                                                         stream);
}

/// Sources with an activation are inputs of products or output gradients.
template <Fp8Format format, class Source>
cudaError_t launch_source(const Source& source, const Quantization<Bf16>& op,
                          const FoldMemory& memory, cudaStream_t stream) {
  if (op.format != format || !is_aligned(op) || op.scale_is_made) return cudaErrorInvalidValue;
  if (const cudaError_t error = launch_scale<Bf16, Source, true>(source, op, memory, stream);
      error != cudaSuccess || !casts(op))
    return error;
  return launch_tiles<format, Bf16, Source, true>(source, op, memory, stream);
}

template <class T>
cudaError_t launch(const Quantization<T>& op, const FoldMemory& memory, cudaStream_t stream) {
  if (op.column_sums && op.format != Fp8Format::e5m2) return cudaErrorInvalidValue;
  if (op.column_sums && !op.accumulate && op.rows == 0 && op.columns > 0)
    if (const cudaError_t error = cudaMemsetAsync(
            op.column_sums, 0, static_cast<std::size_t>(op.columns) * sizeof(float), stream);
        error != cudaSuccess)
      return error;
  if (op.source == Fp8Source::plain)
    return is_aligned(op) ? launch_plain<T, true>(op, memory, stream)
                          : launch_plain<T, false>(op, memory, stream);
  if constexpr (std::is_same_v<T, Bf16>) {
    using Tanh = TanhCdf<Bf16>;
    using Erf = ErfCdf<Bf16>;
    switch (op.source) {
      case Fp8Source::gelu_tanh:
        return launch_source<Fp8Format::e4m3>(GeluSource<T, Tanh>{op.x}, op, memory, stream);
      case Fp8Source::gelu_erf:
        return launch_source<Fp8Format::e4m3>(GeluSource<T, Erf>{op.x}, op, memory, stream);
      case Fp8Source::gated_silu:
        return launch_source<Fp8Format::e4m3>(
            GatedSource<T, ActivationKind::silu>{op.x, op.columns}, op, memory, stream);
      case Fp8Source::gated_gelu_tanh:
        return launch_source<Fp8Format::e4m3>(
            GatedSource<T, ActivationKind::gelu_tanh>{op.x, op.columns}, op, memory, stream);
      case Fp8Source::gelu_tanh_gradient:
        return launch_source<Fp8Format::e5m2>(GeluGradientSource<T, Tanh>{op.x, op.pre}, op, memory,
                                              stream);
      case Fp8Source::gelu_erf_gradient:
        return launch_source<Fp8Format::e5m2>(GeluGradientSource<T, Erf>{op.x, op.pre}, op, memory,
                                              stream);
      case Fp8Source::gated_silu_gradient:
        return launch_source<Fp8Format::e5m2>(
            GatedGradientSource<T, ActivationKind::silu>{op.x, op.pre, op.columns}, op, memory,
            stream);
      case Fp8Source::gated_gelu_tanh_gradient:
        return launch_source<Fp8Format::e5m2>(
            GatedGradientSource<T, ActivationKind::gelu_tanh>{op.x, op.pre, op.columns}, op, memory,
            stream);
      case Fp8Source::plain: break;
    }
  }
  return cudaErrorInvalidValue;
}

__global__ void __launch_bounds__(threads)
    advance_ranges_kernel(double* states, const double* counts, std::int64_t tensors,
                          const double* guard) {
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (t < tensors && (!guard || isfinite(*guard)))
    advance_fp8_range(states + t * fp8_range_state,
                      counts + t * (fp8_counts + fp8_exponents) + fp8_counts);
}

}  // namespace

std::int64_t quantize_partial_bytes(std::int64_t columns) {
  const std::int64_t slabs = fp8_most_slabs * ColumnSums{nullptr, columns, false}.pitch();
  return (most_blocks > slabs ? most_blocks : slabs) * static_cast<std::int64_t>(sizeof(float));
}
cudaError_t quantize(const Quantization<float>& op, const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, memory, stream);
}
cudaError_t quantize(const Quantization<Bf16>& op, const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, memory, stream);
}
cudaError_t quantize(const Quantization<Fp16>& op, const FoldMemory& memory, cudaStream_t stream) {
  return launch(op, memory, stream);
}

cudaError_t advance_fp8_ranges(double* states, const double* counts, std::int64_t tensors,
                               const double* guard, cudaStream_t stream) {
  if (tensors == 0) return cudaSuccess;
  advance_ranges_kernel<<<static_cast<unsigned>((tensors + threads - 1) / threads), threads, 0,
                          stream>>>(states, counts, tensors, guard);
  return cudaGetLastError();
}

}  // namespace trainx::kernels
