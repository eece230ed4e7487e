#include "kernels/eight.cuh"
#include "kernels/fold.cuh"
#include "kernels/launch.hpp"
#include "kernels/quantize/quantize.hpp"

namespace trainx::kernels {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 8;
constexpr std::int64_t most_blocks = 4096;  // bounds the partial results without knowing the GPU

__device__ __forceinline__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return a > b ? a : b;
}

/// Of all threads of the block, in thread 0.
__device__ __forceinline__ std::uint32_t largest_of_block(std::uint32_t most) {
  __shared__ std::uint32_t of_warps[threads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    most = larger(most, __shfl_xor_sync(0xffffffffu, most, offset));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
  __syncthreads();
  most = 0;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int w = 0; w < threads / 32; ++w) most = larger(most, of_warps[w]);
  }
  __syncthreads();  // before of_warps is used again
  return most;
}

/// The largest magnitude, by its bits: NaNs have larger ones than infinity, which has larger ones
/// than all numbers. The last block makes the scale of what all have found.
template <class T, bool aligned>
__global__ void __launch_bounds__(threads)
    quantize_scale_kernel(const T* x, std::int64_t elements, Fp8Format format, float* scale,
                          FoldMemory memory) {
  auto* const partial = reinterpret_cast<std::uint32_t*>(memory.partial);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads * 8;
  std::uint32_t most = 0;
#pragma unroll 4
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) * 8;
       i < elements; i += step) {
    const int count = static_cast<int>(elements - i < 8 ? elements - i : 8);
    // the last piece may be cut short
    float of_piece[8];
    widen8(aligned && count == 8 ? load8<true>(x + i, 8) : load8<false>(x + i, count), of_piece);
#pragma unroll
    for (int j = 0; j < 8; ++j) most = larger(most, __float_as_uint(of_piece[j]) & 0x7fffffffu);
  }
  most = largest_of_block(most);
  if (threadIdx.x == 0) partial[blockIdx.x] = most;
  if (!last_to_arrive(memory.counters, gridDim.x)) return;
  most = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += threads)
    most = larger(most, __ldcg(partial + b));
  most = largest_of_block(most);
  if (threadIdx.x == 0) *scale = fp8_scale(most, format);
}

/// Two numbers, `low` in the low byte. Of numbers that are not NaN.
template <Fp8Format format>
__device__ __forceinline__ std::uint32_t fp8_pair(float low, float high) {
#if __CUDA_ARCH__ >= 890
  std::uint16_t pair;
  if constexpr (format == Fp8Format::e4m3)
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return rounded_fp8<format>(low) | static_cast<std::uint32_t>(rounded_fp8<format>(high)) << 8;
#endif
}

template <Fp8Format format>
__device__ __forceinline__ std::uint32_t four_in_fp8(const float* x, float scale) {
  if (scale != scale) {  // the same in all threads
    std::uint32_t word = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j)
      word |= static_cast<std::uint32_t>(scaled_fp8<format>(x[j], scale)) << 8 * j;
    return word;
  }
  return fp8_pair<format>(quotient(x[0], scale), quotient(x[1], scale)) |
         fp8_pair<format>(quotient(x[2], scale), quotient(x[3], scale)) << 16;
}

/// The first `count` of 16 bytes.
__device__ __forceinline__ void store_bytes(std::uint8_t* to, const uint4& x, int count,
                                            bool aligned) {
  if (aligned) {
    if (count > 0) *reinterpret_cast<uint4*>(to) = x;
    return;
  }
  const std::uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int j = 0; j < fp8_piece; ++j)
    if (j < count) to[j] = static_cast<std::uint8_t>(words[j / 4] >> 8 * (j % 4));
}

/// Elements of `end` from `begin` on, of those that a piece holds; none: 0 or less.
__device__ __forceinline__ int in_piece(std::int64_t begin, std::int64_t end) {
  const std::int64_t left = end - begin;
  return static_cast<int>(left < 0 ? 0 : left < fp8_piece ? left : fp8_piece);
}

/// A block makes a tile of 128 x 128. `aligned`: x and values are at 16 bytes, and columns a
/// multiple of 16; `aligned_columns`: the same of transposed and rows.
template <Fp8Format format, class T, bool aligned>
__global__ void __launch_bounds__(threads)
    quantize_values_kernel(Quantization<T> op, unsigned tiles_across, bool aligned_columns) {
  __shared__ uint4 tile[fp8_tile * fp8_pieces];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x / tiles_across) * fp8_tile,
                     first_column = static_cast<std::int64_t>(blockIdx.x % tiles_across) * fp8_tile;
  const float scale = *op.scale;
#pragma unroll
  for (int i = 0; i < fp8_tile * fp8_pieces / threads; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * threads, row = at / fp8_pieces,
              piece = at % fp8_pieces;
    const std::int64_t r = first_row + row, c = first_column + piece * fp8_piece;
    const int count = r < op.rows ? in_piece(c, op.columns) : 0;
    const std::int64_t begin = r * op.columns + c;
    float x[fp8_piece];
    {
      float eight[8];
      widen8(load8<aligned>(op.x + begin, count), eight);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = eight[j];
      widen8(load8<aligned>(op.x + begin + 8, count - 8), eight);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[8 + j] = eight[j];
    }
    const uint4 made = make_uint4(four_in_fp8<format>(x, scale), four_in_fp8<format>(x + 4, scale),
                                  four_in_fp8<format>(x + 8, scale),
                                  four_in_fp8<format>(x + 12, scale));
    if (op.values) store_bytes(op.values + begin, made, count, aligned);
    if (op.transposed) tile[fp8_tile_piece(row, piece)] = made;
  }
  if (!op.transposed) return;
  __syncthreads();
  const Fp8Strip strip = fp8_strip(static_cast<int>(threadIdx.x));
  const auto* const words = reinterpret_cast<const std::uint32_t*>(tile);
  std::uint32_t columns[4][4];  // of each of four columns 16 bytes
#pragma unroll
  for (int four = 0; four < 4; ++four) {
    std::uint32_t x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[i] = words[4 * fp8_tile_piece(strip.group * fp8_piece + 4 * four + i, strip.piece) +
                   strip.word];
    transpose_bytes(x);
#pragma unroll
    for (int j = 0; j < 4; ++j) columns[j][four] = x[j];
  }
  const std::int64_t r = first_row + strip.group * fp8_piece;
  const int count = in_piece(r, op.rows);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::int64_t c = first_column + strip.piece * fp8_piece + strip.word * 4 + j;
    if (c < op.columns)
      store_bytes(op.transposed + c * op.rows + r,
                  make_uint4(columns[j][0], columns[j][1], columns[j][2], columns[j][3]), count,
                  aligned_columns);
  }
}

template <Fp8Format format, class T>
cudaError_t launch_cast(const Quantization<T>& op, cudaStream_t stream) {
  const std::int64_t down = (op.rows + fp8_tile - 1) / fp8_tile,
                     across = (op.columns + fp8_tile - 1) / fp8_tile, tiles = down * across;
  if (tiles > 0x7fffffff) return cudaErrorInvalidValue;
  const bool aligned = aligned16(op.x) && aligned16(op.values) && op.columns % fp8_piece == 0,
             aligned_columns = aligned16(op.transposed) && op.rows % fp8_piece == 0;
  const auto blocks = static_cast<unsigned>(tiles), wide = static_cast<unsigned>(across);
  if (aligned)
    quantize_values_kernel<format, T, true>
        <<<blocks, threads, 0, stream>>>(op, wide, aligned_columns);
  else
    quantize_values_kernel<format, T, false>
        <<<blocks, threads, 0, stream>>>(op, wide, aligned_columns);
  return cudaGetLastError();
}

template <class T>
cudaError_t launch(const Quantization<T>& op, const FoldMemory& memory, cudaStream_t stream) {
  const std::int64_t elements = op.rows * op.columns,
                     work = elements > 0 ? (elements + 8 * threads - 1) / (8 * threads) : 1;
  unsigned blocks = 0;
  if (const cudaError_t error =
          blocks_for(work < most_blocks ? work : most_blocks, blocks_per_multiprocessor, blocks);
      error != cudaSuccess)
    return error;
  if (aligned16(op.x))
    quantize_scale_kernel<T, true>
        <<<blocks, threads, 0, stream>>>(op.x, elements, op.format, op.scale, memory);
  else
    quantize_scale_kernel<T, false>
        <<<blocks, threads, 0, stream>>>(op.x, elements, op.format, op.scale, memory);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  if (elements == 0 || (!op.values && !op.transposed)) return cudaSuccess;
  return op.format == Fp8Format::e4m3 ? launch_cast<Fp8Format::e4m3>(op, stream)
                                      : launch_cast<Fp8Format::e5m2>(op, stream);
}

}  // namespace

std::int64_t quantize_partial_bytes() {
  return most_blocks * static_cast<std::int64_t>(sizeof(std::uint32_t));
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

}  // namespace trainx::kernels
