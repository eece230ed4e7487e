// What the kernels that cast to fp8 share: pieces of sixteen elements, their counts, the grid.
#pragma once
#include "kernels/launch.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include "kernels/quantize/sixteen.cuh"
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels {

constexpr int fp8_threads = 256;
/// Largest number of blocks over the rows.
constexpr std::int64_t fp8_most_blocks = 1024;

__device__ __forceinline__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return a > b ? a : b;
}

/// Of all threads of the block, in thread 0.
__device__ __forceinline__ std::uint32_t largest_of_block(std::uint32_t most) {
  __shared__ std::uint32_t of_warps[fp8_threads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    most = larger(most, __shfl_xor_sync(0xffffffffu, most, offset));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
  __syncthreads();
  most = 0;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int w = 0; w < fp8_threads / 32; ++w) most = larger(most, of_warps[w]);
  }
  __syncthreads();  // before of_warps is used again
  return most;
}

/// Elements of `end` from `begin` on, of those that a piece holds; none: 0 or less.
__device__ __forceinline__ int in_piece(std::int64_t begin, std::int64_t end) {
  const std::int64_t left = end - begin;
  return static_cast<int>(left < 0 ? 0 : left < fp8_piece ? left : fp8_piece);
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

/// Of numbers that are not NaN, with an inverse that is not.
template <Fp8Format format>
__device__ __forceinline__ std::uint32_t four_in_fp8(const float* x, float inverse) {
  return fp8_pair<format>(product(x[0], inverse), product(x[1], inverse)) |
         fp8_pair<format>(product(x[2], inverse), product(x[3], inverse)) << 16;
}
template <Fp8Format format>
__device__ __forceinline__ std::uint32_t any_four_in_fp8(const float* x, float inverse) {
  std::uint32_t word = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j)
    word |= static_cast<std::uint32_t>(scaled_fp8<format>(x[j], inverse)) << 8 * j;
  return word;
}

/// What a thread has counted.
struct Counted {
  unsigned flushed = 0, saturated = 0, not_finite = 0;
  std::uint32_t most = 0;  // the bits of the largest magnitude
};

/// Sixteen elements in fp8; `finite`: none of them, nor the inverse, is infinite or NaN.
template <Fp8Format format>
__device__ __forceinline__ uint4 sixteen_in_fp8(const float (&x)[fp8_piece], float inverse,
                                                bool finite) {
  std::uint32_t word[4];
  if (finite) {
#pragma unroll
    for (int w = 0; w < 4; ++w) word[w] = four_in_fp8<format>(x + 4 * w, inverse);
  } else {
#pragma unroll
    for (int w = 0; w < 4; ++w) word[w] = any_four_in_fp8<format>(x + 4 * w, inverse);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

/// Counts a piece of these extremes.
template <Fp8Format format>
__device__ __forceinline__ void count_piece(const float (&x)[fp8_piece], const Extremes& extremes,
                                            float inverse, Counted& counted) {
  counted.most = larger(counted.most, extremes.most);
  const auto scaled = [&](float of) { return fabsf(product(of, inverse)); };
  constexpr std::uint32_t infinity = 0x7f800000u;
  if (extremes.most >= infinity || scaled(__uint_as_float(extremes.most)) > fp8_limit(format)) {
#pragma unroll
    for (int j = 0; j < fp8_piece; ++j) {
      const bool finite = (__float_as_uint(x[j]) & 0x7fffffffu) < infinity;
      counted.not_finite += !finite;
      counted.saturated += finite && scaled(x[j]) > fp8_limit(format);
    }
  }
  if (scaled(__uint_as_float(extremes.least)) <= fp8_flushed_limit(format)) {
#pragma unroll
    for (int j = 0; j < fp8_piece; ++j)
      counted.flushed += x[j] != 0 && scaled(x[j]) <= fp8_flushed_limit(format);
  }
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

/// to[columns, rows] = the tile of 128 x 128 bytes that begins there, which the block's threads
/// have written by pieces (fp8_tile_piece). They may write it again when this returns.
__device__ __forceinline__ void store_transposed(std::uint8_t* to, const uint4* tile,
                                                 std::int64_t first_row, std::int64_t first_column,
                                                 std::int64_t rows, std::int64_t columns,
                                                 bool aligned) {
  __syncthreads();
  const Fp8Strip strip = fp8_strip(static_cast<int>(threadIdx.x));
  const auto* const words = reinterpret_cast<const std::uint32_t*>(tile);
  std::uint32_t bytes[4][4];  // of each of four columns 16
#pragma unroll
  for (int four = 0; four < 4; ++four) {
    std::uint32_t x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[i] = words[4 * fp8_tile_piece(strip.group * fp8_piece + 4 * four + i, strip.piece) +
                   strip.word];
    transpose_bytes(x);
#pragma unroll
    for (int j = 0; j < 4; ++j) bytes[j][four] = x[j];
  }
  __syncthreads();
  const std::int64_t r = first_row + strip.group * fp8_piece;
  const int count = in_piece(r, rows);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::int64_t c = first_column + strip.piece * fp8_piece + strip.word * 4 + j;
    if (c < columns)
      store_bytes(to + c * rows + r, make_uint4(bytes[j][0], bytes[j][1], bytes[j][2], bytes[j][3]),
                  count, aligned);
  }
}

/// Adds what the threads of a block have counted.
__device__ __forceinline__ void add_counts(double* counts, const Counted& counted,
                                           std::int64_t elements) {
  __shared__ unsigned of_block[3];
  if (threadIdx.x < 3) of_block[threadIdx.x] = 0;
  __syncthreads();
  const unsigned of_threads[3] = {counted.flushed, counted.saturated, counted.not_finite};
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    unsigned all = of_threads[k];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) all += __shfl_xor_sync(0xffffffffu, all, offset);
    if (threadIdx.x % 32 == 0 && all > 0) atomicAdd(of_block + k, all);
  }
  __syncthreads();
  // whole numbers below 2^53: sums do not depend on their order
  if (threadIdx.x < 3 && of_block[threadIdx.x] > 0)
    atomicAdd(counts + fp8_flushed + threadIdx.x, static_cast<double>(of_block[threadIdx.x]));
  if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0)
    atomicAdd(counts + fp8_elements, static_cast<double>(elements));
}

/// Blocks of this kernel that run at the same time.
template <class Kernel>
cudaError_t blocks_at_once(Kernel kernel, unsigned& blocks) {
  int multiprocessors = 0, resident = 0;
  if (const cudaError_t error = multiprocessors_of_device(multiprocessors); error != cudaSuccess)
    return error;
  const cudaError_t error =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, fp8_threads, 0);
  blocks = static_cast<unsigned>(multiprocessors * (resident > 0 ? resident : 1));
  return error;
}

/// Chooses the number of blocks over the rows, at most `most`: the smallest number that minimizes
/// the tiles of the busiest multiprocessor.
template <class Kernel>
cudaError_t blocks_down(Kernel kernel, std::int64_t down, std::int64_t across, std::int64_t most,
                        unsigned& blocks) {
  unsigned at_once = 0;
  if (const cudaError_t error = blocks_at_once(kernel, at_once); error != cudaSuccess) return error;
  std::int64_t least = 0;
  for (std::int64_t slabs = 1; slabs <= down && slabs <= most; ++slabs) {
    const std::int64_t turns = (slabs * across + at_once - 1) / at_once,
                       tiles = turns * ((down + slabs - 1) / slabs);
    if (least == 0 || tiles < least) least = tiles, blocks = static_cast<unsigned>(slabs);
  }
  return cudaSuccess;
}

}  // namespace trainx::kernels
