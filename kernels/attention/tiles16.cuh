// Tiles of 16-bit elements in shared memory, and products of tiles at their own rate: mma.m16n8k16
// with operands from ldmatrix (PTX ISA, "Matrix Fragments for mma.m16n8k16"). The same functions as
// tiles.cuh has for floats. Scores become the left operand of the next product by rounding to the
// elements' type (Dao 2023, arXiv:2307.08691). Rows lie an odd multiple of 16 bytes apart: the
// eight that are read at once are in 32 banks.
#pragma once
#include <cstdint>
#include <type_traits>
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels::tiles {

/// Four matrices of 8 rows of 8 elements: lanes 8 m to 8 m + 7 say where the rows of matrix m
/// begin. Of each a thread gets elements 2 t and 2 t + 1 of row g; transposed, of column g.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}
__device__ __forceinline__ void load_transposed(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

/// sum += 16 rows of 16 by 8 columns of 16.
__device__ __forceinline__ void multiply(float (&sum)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1, Bf16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply(float (&sum)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1, Fp16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Rounded to nearest, the first in the lower half.
__device__ __forceinline__ std::uint32_t packed(float first, float second, Bf16) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}
__device__ __forceinline__ std::uint32_t packed(float first, float second, Fp16) {
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

/// The warp's 16 rows of a tile in shared memory, 16 columns from k on at a time.
template <int Width, class T>
struct SharedRows16 {
  const T* at;
  __device__ SharedRows16(const T* tile, const Place<1>& place)
      : at(tile + (place.first_row + lane() % 16) * Tile<Width>::stride + lane() / 16 * 8) {}
  __device__ __forceinline__ void left(int k, std::uint32_t (&a)[4]) const {
    load_matrices(a, at + k);
  }
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
};

/// scores = the warp's rows . the rows of a streamed tile. (Terms: of floats.)
template <int Terms, int Width, class T>
__device__ __forceinline__ void row_products(const SharedRows16<Width, T>& rows, const T* streamed,
                                             const Place<1>&, Scores<1>& of_row_tiles) {
  constexpr int stride = Tile<Width>::stride;
  Rows16<streamed_rows>& scores = of_row_tiles[0];
  clear(scores);
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
  const T* const right = streamed + (matrix / 2 * 8 + lane % 8) * stride + matrix % 2 * 8;
#pragma unroll(Width <= 64 ? Width / 16 : 4)
  for (int k = 0; k < Width; k += 16) {
    std::uint32_t left[4];
    rows.left(k, left);
#pragma unroll
    for (int n = 0; n < streamed_rows / 8; n += 2) {
      std::uint32_t both[4];
      load_matrices(both, right + 8 * n * stride + k);
      multiply(scores[n], left, both[0], both[1], T{});
      multiply(scores[n + 1], left, both[2], both[3], T{});
    }
  }
}

/// sums += weights . the columns of a streamed tile from `streamed` on. What tensor cores cut off
/// where they add is far below what the elements hold.
template <int Terms, int Width, class T, int Tiles, std::enable_if_t<sizeof(T) == 2, int> = 0>
__device__ __forceinline__ void weighted_rows(const Scores<1>& of_row_tiles, const T* streamed,
                                              const Place<1>&,
                                              float (&sums_of_row_tiles)[1][Tiles][4]) {
  const Rows16<streamed_rows>& weights = of_row_tiles[0];
  float(&sums)[Tiles][4] = sums_of_row_tiles[0];
  constexpr int stride = Tile<Width>::stride;
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
  const T* const right = streamed + (matrix % 2 * 8 + lane % 8) * stride + matrix / 2 * 8;
#pragma unroll
  for (int k = 0; k < streamed_rows / 8; k += 2) {
    const std::uint32_t left[4] = {packed(weights[k][0], weights[k][1], T{}),
                                   packed(weights[k][2], weights[k][3], T{}),
                                   packed(weights[k + 1][0], weights[k + 1][1], T{}),
                                   packed(weights[k + 1][2], weights[k + 1][3], T{})};
#pragma unroll
    for (int c = 0; c < Tiles; c += 2) {
      std::uint32_t both[4];
      load_transposed(both, right + 8 * k * stride + 8 * c);
      multiply(sums[c], left, both[0], both[1], T{});
      multiply(sums[c + 1], left, both[2], both[3], T{});
    }
  }
}

template <int Tiles, int RowTiles, class T>
__device__ void store_row(const float (&sums)[Tiles][4], int half, const Place<RowTiles>& place,
                          int first_column, int width, T* row, float factor) {
#pragma unroll
  for (int n = 0; n < Tiles; ++n) {
    const int c = first_column + 8 * n + 2 * place.t;
    const std::uint32_t both =
        packed(sums[n][2 * half] * factor, sums[n][2 * half + 1] * factor, T{});
    if (c + 2 <= width && reinterpret_cast<std::uintptr_t>(row + c) % 4 == 0) {
      *reinterpret_cast<std::uint32_t*>(row + c) = both;
      continue;
    }
    if (c < width) row[c].bits = static_cast<std::uint16_t>(both);
    if (c + 1 < width) row[c + 1].bits = static_cast<std::uint16_t>(both >> 16);
  }
}

/// Of tiles of T.
template <int Width, class T, bool AreRounded = false>
using RowsOf =
    std::conditional_t<sizeof(T) == 2, SharedRows16<Width, T>, SharedRows<Width, AreRounded>>;

}  // namespace trainx::kernels::tiles
