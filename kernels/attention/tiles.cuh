// Tiles of rows in shared memory as floats, and products of tiles on tensor cores by a block of 8 warps. A product of Rows rows is cut into blocks of 16 rows,
// one for each warp of a group, and its columns among the groups. Products are sums of tf32 products: in three terms, an operand being what tf32 holds of it and the
// rest, which leaves the accuracy of fp32 (the product of the rests, 2^-24 of the whole, is left out); in one, with operands rounded to tf32.
#pragma once
#include "kernels/bits.hpp"

namespace trainx::kernels::tiles {

constexpr int threads = 256, warps = threads / 32;

/// `Rows` rows of at most `Width` elements. Four floats between rows' ends: what a warp reads of eight rows then meets all banks.
template <int Rows, int Width>
struct Tile {
  static constexpr int stride = Width + 4;
  static constexpr int floats = Rows * stride;
};

/// The part of a product with `Columns` columns that a warp computes: 16 rows from `row` on, `tiles` times 8 columns from `column` on. A thread has of each
/// tile the elements [0], [1] at (row, column + 8 tile), (row, column + 8 tile + 1), and [2], [3] eight rows below.
template <int Rows, int Columns>
struct Part {
  static constexpr int groups = warps / (Rows / 16), tiles = Columns / groups / 8;
  static_assert(tiles * groups * 8 == Columns);
  int first_row, first_column, lane;
  __device__ Part() : first_row(threadIdx.x / 32 % (Rows / 16) * 16), first_column(threadIdx.x / 32 / (Rows / 16) * (Columns / groups)), lane(threadIdx.x % 32) {}
  __device__ int row(int half) const { return first_row + lane / 4 + 8 * half; }
  __device__ int column(int tile) const { return first_column + 8 * tile + 2 * (lane % 4); }
};
template <int Rows, int Columns>
using Sums = float[Part<Rows, Columns>::tiles][4];

/// Rows [first, first + Rows) of a matrix whose rows lie `distance` elements apart; zeros from row `end` on and past `width`.
template <int Rows, int Width, class T>
__device__ void load(float* tile, const T* matrix, long first, long end, long distance, int width) {
  constexpr int stride = Tile<Rows, Width>::stride;
  if constexpr (sizeof(T) == 4) {
    if (width == Width && distance % 4 == 0 && reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0) {
#pragma unroll 4
      for (int i = threadIdx.x; i < Rows * Width / 4; i += threads) {
        const int r = i / (Width / 4), c = i % (Width / 4) * 4;
        *reinterpret_cast<float4*>(tile + r * stride + c) = first + r < end ? *reinterpret_cast<const float4*>(matrix + (first + r) * distance + c) : make_float4(0, 0, 0, 0);
      }
      return;
    }
  }
  for (int i = threadIdx.x; i < Rows * Width; i += threads) {
    const int r = i / Width, c = i % Width;
    tile[r * stride + c] = first + r < end && c < width ? widened(matrix[(first + r) * distance + c]) : 0.0f;
  }
}

/// An operand as the tensor cores take it; they leave the lowest 13 bits of a float unread.
template <int Terms>
struct Operand {
  std::uint32_t high, low;
  __device__ __forceinline__ explicit Operand(float x) : high(0), low(0) {
    if constexpr (Terms == 1) {
      high = __float_as_uint(x * (1 + 0x1p-11f));         // cut off, that is rounded to nearest
    } else {
      high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;     // to nearest, so that rests have any sign and what is left out of them cancels; of NaN the rest is NaN
      low = __float_as_uint(x - __uint_as_float(high));
    }
  }
};

__device__ __forceinline__ void multiply(float (&sum)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// sums += a b over `Depth`: a is a tile of Rows x Depth, b is read as b[k * by_k + column * by_column].
template <int Terms, int Rows, int Columns, int Depth>
__device__ __forceinline__ void accumulate(const float* a, const float* b, int by_k, int by_column, Sums<Rows, Columns>& sums) {
  constexpr int stride = Tile<Rows, Depth>::stride;
  const Part<Rows, Columns> part;
  const int g = part.lane / 4, t = part.lane % 4;
  const float* const left = a + (part.first_row + g) * stride + t;
  const float* const right = b + t * by_k + (part.first_column + g) * by_column;
#pragma unroll 2
  for (int k = 0; k < Depth; k += 8) {
    const Operand<Terms> a0(left[k]), a1(left[k + 8 * stride]), a2(left[k + 4]), a3(left[k + 4 + 8 * stride]);
#pragma unroll
    for (int n = 0; n < Part<Rows, Columns>::tiles; ++n) {
      const Operand<Terms> b0(right[k * by_k + 8 * n * by_column]), b1(right[(k + 4) * by_k + 8 * n * by_column]);
      if constexpr (Terms == 3) {             // small ones first
        multiply(sums[n], a0.low, a1.low, a2.low, a3.low, b0.high, b1.high);
        multiply(sums[n], a0.high, a1.high, a2.high, a3.high, b0.low, b1.low);
      }
      multiply(sums[n], a0.high, a1.high, a2.high, a3.high, b0.high, b1.high);
    }
  }
}

template <int Rows, int Columns>
__device__ void clear(Sums<Rows, Columns>& sums) {
#pragma unroll
  for (auto& tile : sums)
#pragma unroll
    for (float& x : tile) x = 0;
}

/// out[r][c] = a's row r . b's row c, all of them tiles in shared memory.
template <int Terms, int Rows, int Width>
__device__ void row_products(const float* a, const float* b, float* out) {
  Sums<Rows, Rows> sums;
  clear<Rows, Rows>(sums);
  accumulate<Terms, Rows, Rows, Width>(a, b, 1, Tile<Rows, Width>::stride, sums);
  const Part<Rows, Rows> part;
#pragma unroll
  for (int n = 0; n < Part<Rows, Rows>::tiles; ++n)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<float2*>(out + part.row(half) * Tile<Rows, Rows>::stride + part.column(n)) = make_float2(sums[n][2 * half], sums[n][2 * half + 1]);
}

/// sums += weights b: weights of Rows x Rows, b of Rows x Width. Tensor cores cut off where they add (Fasi et al. 2021, doi:10.7717/peerj-cs.330), always towards
/// zero: over all tiles of a long sequence that would be ten times what rounding loses. So each tile is summed by itself and added as floats are, to nearest.
template <int Terms, int Rows, int Width>
__device__ void weighted_rows(const float* weights, const float* b, Sums<Rows, Width>& sums) {
  Sums<Rows, Width> of_tile;
  clear<Rows, Width>(of_tile);
  accumulate<Terms, Rows, Width, Rows>(weights, b, Tile<Rows, Width>::stride, 1, of_tile);
#pragma unroll
  for (int n = 0; n < Part<Rows, Width>::tiles; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[n][e] += of_tile[n][e];
}

/// Stores row `row_of(r)` of a matrix for each of the product's rows r, times factor(r), elements below `width` alone; null: not stored.
template <int Rows, int Width, class RowOf, class Factor>
__device__ void store(const Sums<Rows, Width>& sums, int width, RowOf row_of, Factor factor) {
  const Part<Rows, Width> part;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    auto* const row = row_of(part.row(half));
    if (!row) continue;
    const float f = factor(part.row(half));
#pragma unroll
    for (int n = 0; n < Part<Rows, Width>::tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (const int c = part.column(n) + e; c < width) narrow(sums[n][2 * half + e] * f, row[c]);
  }
}

/// Over the 16 threads that share a row of scores.
__device__ inline float row_sum(float v) {
  for (int lane = 8; lane > 0; lane /= 2) v += __shfl_xor_sync(0xffffffff, v, lane, 16);
  return v;
}
__device__ inline float row_maximum(float v) {
  for (int lane = 8; lane > 0; lane /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, lane, 16));
  return v;
}

}  // namespace trainx::kernels::tiles
