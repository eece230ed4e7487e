// Tiles of rows in shared memory, and products of tiles by a block of 16 x 16 threads. Thread (y, x) owns rows y + 16 i of a product, and of its columns
// x + 16 j where the columns are rows of another tile, 64 c + 4 x ... + 3 where they are elements of a head.
#pragma once
#include "kernels/bits.hpp"

namespace trainx::kernels::tiles {

constexpr int threads = 256;

/// `Rows` rows of a head of at most `Width` elements, as floats. Four floats between rows' ends: 16-byte reads of eight rows then meet all banks.
template <int Rows, int Width>
struct Tile {
  static constexpr int stride = Width + 4;
  static constexpr int floats = Rows * stride;
};

/// Rows [first, first + Rows) of a matrix whose rows lie `distance` elements apart; zeros from row `end` on and past `width`.
template <int Rows, int Width, class T>
__device__ void load(float* tile, const T* matrix, long first, long end, long distance, int width) {
  for (int i = threadIdx.x; i < Rows * Width; i += threads) {
    const int r = i / Width, c = i % Width;
    tile[r * Tile<Rows, Width>::stride + c] = first + r < end && c < width ? widened(matrix[(first + r) * distance + c]) : 0.0f;
  }
}

/// out[i][j] = a's row (y + 16 i) . b's row (x + 16 j).
template <int Rows, int Width>
__device__ void row_products(const float* a, const float* b, float (&out)[Rows / 16][Rows / 16]) {
  constexpr int n = Rows / 16, stride = Tile<Rows, Width>::stride;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < n; ++j) out[i][j] = 0;
#pragma unroll 4
  for (int d = 0; d < Width; d += 4) {
    float4 l[n], r[n];
#pragma unroll
    for (int i = 0; i < n; ++i) {
      l[i] = *reinterpret_cast<const float4*>(a + (y + 16 * i) * stride + d);
      r[i] = *reinterpret_cast<const float4*>(b + (x + 16 * i) * stride + d);
    }
#pragma unroll
    for (int i = 0; i < n; ++i)
#pragma unroll
      for (int j = 0; j < n; ++j) out[i][j] += l[i].x * r[j].x + l[i].y * r[j].y + l[i].z * r[j].z + l[i].w * r[j].w;
  }
}

/// out[i][c] += sum over k of weights[y + 16 i][k] * b[k][64 c + 4 x ...]; weights is a tile of Rows x Rows.
template <int Rows, int Width>
__device__ void accumulate(const float* weights, const float* b, float4 (&out)[Rows / 16][Width / 64]) {
  constexpr int n = Rows / 16, m = Width / 64, stride = Tile<Rows, Width>::stride, weight_stride = Tile<Rows, Rows>::stride;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
#pragma unroll 4
  for (int k = 0; k < Rows; ++k) {
    float4 right[m];
#pragma unroll
    for (int c = 0; c < m; ++c) right[c] = *reinterpret_cast<const float4*>(b + k * stride + 64 * c + 4 * x);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const float w = weights[(y + 16 * i) * weight_stride + k];
#pragma unroll
      for (int c = 0; c < m; ++c) {
        out[i][c].x += w * right[c].x;
        out[i][c].y += w * right[c].y;
        out[i][c].z += w * right[c].z;
        out[i][c].w += w * right[c].w;
      }
    }
  }
}

/// Stores what `accumulate` summed for row `row` of a matrix, times `factor`, elements below `width` alone.
template <int Blocks, class T>
__device__ void store_row(T* row, const float4 (&sums)[Blocks], float factor, int width) {
  const int x = threadIdx.x % 16;
#pragma unroll
  for (int c = 0; c < Blocks; ++c) {
    const float values[4] = {sums[c].x, sums[c].y, sums[c].z, sums[c].w};
    for (int e = 0; e < 4; ++e)
      if (const int at = 64 * c + 4 * x + e; at < width) narrow(values[e] * factor, row[at]);
  }
}

/// Over the 16 threads of equal y.
__device__ inline float row_sum(float v) {
  for (int lane = 8; lane > 0; lane /= 2) v += __shfl_xor_sync(0xffffffff, v, lane, 16);
  return v;
}
__device__ inline float row_maximum(float v) {
  for (int lane = 8; lane > 0; lane /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, lane, 16));
  return v;
}

}  // namespace trainx::kernels::tiles
