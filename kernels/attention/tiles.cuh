// Tiles of rows in shared memory, and products of tiles on tensor cores, here of floats:
// mma.m16n8k8 of tf32 (PTX ISA, "Matrix Fragments for mma.m16n8k8"). A warp has 16 rows of scores,
// or 32, against 32 streamed rows, in registers from the product to the next one, where they are
// the left operand (Dao 2023, arXiv:2307.08691, section 3.3). Products are sums of tf32 products:
// in three terms, an operand being what tf32 holds of it and the rest, which leaves the accuracy of
// fp32 (the product of the rests, 2^-24 of the whole, is left out); in one, with operands rounded
// to tf32.
#pragma once
#include "kernels/attention/attention_tiles.hpp"
#include "kernels/bits.hpp"
#include "kernels/copy_async.cuh"
#include <cstdint>

namespace trainx::kernels::tiles {

/// Rows of at most `Width` elements. Eight elements between rows' ends: of floats what half a warp
/// reads at once as pairs (row_products), and a quarter as fours (weighted_rows), lies in 32 banks.
template <int Width>
struct Tile {
  static constexpr int stride = stride_of(Width);
  static constexpr int streamed_elements = streamed_rows * stride;
  // of warps: each group sums its share of the columns
  static constexpr int groups = Width > 128 ? Width / 128 : 1;
  static constexpr int columns = Width / groups;
  /// Of a slice of a block of that many warps of rows.
  static constexpr int threads(int warps) { return 32 * warps * groups; }
};

/// 16 rows by `Columns`: a thread has of each 8 columns n of a product the elements [n][0], [1] in
/// row g, columns 2 t and 2 t + 1, and [2], [3] eight rows below. Which column of a tile is a
/// product's, Place tells.
template <int Columns>
using Rows16 = float[Columns / 8][4];
/// Of a warp, whose right operands serve `RowTiles` times 16 rows.
template <int RowTiles>
using Scores = Rows16<streamed_rows>[RowTiles];

/// Of this thread, which has two rows of each 16, `half` counting them. A block of few others
/// beside it has several slices of warps, each with its share of the streamed rows.
template <int RowTiles>
struct Place {
  static constexpr int halves = 2 * RowTiles, warp_rows = 16 * RowTiles,
                       block_rows = row_warps * warp_rows;
  int g, t, first_row, group, slice;
  __device__ explicit Place(int groups, int warps = row_warps)
      : g(threadIdx.x % 32 / 4),
        t(threadIdx.x % 4),
        first_row(threadIdx.x / 32 % warps * warp_rows),
        group(threadIdx.x / 32 / warps % groups),
        slice(threadIdx.x / 32 / warps / groups) {}
  __device__ int row(int half) const { return first_row + g + 8 * half; }
  /// Of each 8 streamed rows a product's columns are rows 0 1 2 3 5 4 7 6: those of one parity then
  /// lie in different banks too.
  static __device__ int streamed(int column) { return column ^ column >> 2; }
  /// Streamed row of element e of scores[n].
  __device__ int streamed(int n, int e) const { return 8 * n + 2 * t + (e ^ t >> 1); }
  /// Of each 32 columns of sums a thread has 8 in a row: this is the first of those in sums[n] to
  /// sums[n + 3], n a multiple of 4; 4 with e = 0, then 4 with e = 1.
  __device__ int columns(int n) const { return 8 * n + 8 * t; }
};

/// Of a block of `Warps` warps of rows.
template <int RowTiles, int Warps>
struct PlaceOf : Place<RowTiles> {
  static constexpr int block_rows = Warps * Place<RowTiles>::warp_rows;
  __device__ explicit PlaceOf(int groups) : Place<RowTiles>(groups, Warps) {}
};

/// Streamed row of element e of scores[n], of tiles of T.
template <class T, int RowTiles>
__device__ __forceinline__ int streamed_row(const Place<RowTiles>& place, int n, int e) {
  return sizeof(T) == 4 ? place.streamed(n, e) : 8 * n + 2 * place.t + e;
}

/// `Rows` rows from `first` on of a matrix whose rows lie `distance` elements apart; zeros from row
/// `end` on and past `width`. Copies that may still be under way are one batch (copy_async.cuh)
/// with all since the last.
template <int Rows, int Width, int Threads, class T>
__device__ void load(T* tile, const T* matrix, long first, long end, long distance, int width) {
  constexpr int stride = Tile<Width>::stride, together = 16 / static_cast<int>(sizeof(T));
  if (width == Width && distance % together == 0 &&
      reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0) {
    constexpr int copies = Width / together, rows = Threads / copies;  // of a row, and at once
    static_assert(Threads % copies == 0 && Rows % rows == 0);
    const int r = threadIdx.x / copies, c = threadIdx.x % copies * together;
    const T* const from = matrix + (first + r) * distance + c;
#pragma unroll
    for (int i = 0; i < Rows; i += rows) {
      const bool there = first + r + i < end;
      copy16_or_zeros_async(tile + (r + i) * stride + c, there ? from + i * distance : matrix,
                            there);
    }
    return;
  }
  for (int i = threadIdx.x; i < Rows * Width; i += Threads) {
    const int r = i / Width, c = i % Width;
    tile[r * stride + c] = first + r < end && c < width ? matrix[(first + r) * distance + c] : T{};
  }
}

/// Two matrices streamed together, a tile for each slice of the block at a time, the next on their
/// way while some are worked on where there is room for `Pairs` = 2 of them.
template <int Width, int Pairs, int Slices, class T, int Warps>
class Stream {
 public:
  static constexpr int rows = Slices * streamed_rows,
                       threads = Slices * Tile<Width>::threads(Warps),
                       matrix_elements = Slices * Tile<Width>::streamed_elements,
                       elements = 2 * Pairs * matrix_elements;
  __device__ Stream(T* shared, const T* first, long first_distance, const T* second,
                    long second_distance, long from, long end, int width)
      : shared_(shared),
        first_(first),
        second_(second),
        first_distance_(first_distance),
        second_distance_(second_distance),
        at_(from),
        end_(end),
        width_(width) {
    if (Pairs == 2) fetch(at_);
  }
  __device__ bool more() const { return at_ < end_; }
  /// First row of the tile that a slice works on.
  template <int RowTiles>
  __device__ long at(const Place<RowTiles>& place) const {
    return at_ + place.slice * streamed_rows;
  }
  /// For all threads of the block, before the first tile: what was copied before the stream is
  /// there.
  __device__ void wait_for_older() const {
    wait_for_copies<Pairs - 1>();
    __syncthreads();
  }
  /// All threads of the block, before and after they work on a tile. Of two pairs one is free once
  /// all have come to work on the other.
  __device__ void begin() {
    if (Pairs == 1) fetch(at_);
    wait_for_copies<0>();
    __syncthreads();
    if (Pairs == 2) fetch(at_ + rows);
  }
  __device__ void end() {
    if (Pairs == 1) __syncthreads();
    at_ += rows;
  }
  template <int RowTiles>
  __device__ const T* first(const Place<RowTiles>& place) const {
    return pair(at_) + place.slice * Tile<Width>::streamed_elements;
  }
  template <int RowTiles>
  __device__ const T* second(const Place<RowTiles>& place) const {
    return first(place) + matrix_elements;
  }

 private:
  __device__ T* pair(long row) const { return shared_ + row / rows % Pairs * 2 * matrix_elements; }
  __device__ void fetch(long row) {
    if (row < end_) {
      load<rows, Width, threads>(pair(row), first_, row, end_, first_distance_, width_);
      load<rows, Width, threads>(pair(row) + matrix_elements, second_, row, end_, second_distance_,
                                 width_);
    }
    commit_copies();
  }
  T* shared_;
  const T *first_, *second_;
  long first_distance_, second_distance_, at_, end_;
  int width_;
};

/// The tensor cores leave the lowest 13 bits of a float unread: of this, cut off, they take x
/// rounded to nearest.
__device__ __forceinline__ float rounded(float x) { return x * (1 + 0x1p-11f); }

/// An operand as the tensor cores take it; of one term `is_rounded` may be true of x already.
template <int Terms>
struct Operand {
  std::uint32_t high, low;
  Operand() = default;
  __device__ __forceinline__ explicit Operand(float x, bool is_rounded = false) : high(0), low(0) {
    if constexpr (Terms == 1) {
      high = __float_as_uint(is_rounded ? x : rounded(x));
    } else {
      // to nearest, so that rests have any sign and what is left out of them cancels; of NaN the
      // rest is NaN
      high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
      low = __float_as_uint(x - __uint_as_float(high));
    }
  }
};

template <int Terms>
struct Right {
  Operand<Terms> b0, b1;
  Right() = default;
  __device__ __forceinline__ Right(float b0, float b1) : b0(b0), b1(b1) {}
};

/// sum += 16 rows of 8 by 8 columns of 8.
template <int Terms>
struct Left {
  Operand<Terms> a0, a1, a2, a3;
  __device__ __forceinline__ Left(float a0, float a1, float a2, float a3, bool are_rounded = false)
      : a0(a0, are_rounded), a1(a1, are_rounded), a2(a2, are_rounded), a3(a3, are_rounded) {}
  __device__ __forceinline__ void times(const Right<Terms>& right, float (&sum)[4]) const {
    if constexpr (Terms == 3) {  // small ones first
      multiply(sum, a0.low, a1.low, a2.low, a3.low, right.b0.high, right.b1.high);
      multiply(sum, a0.high, a1.high, a2.high, a3.high, right.b0.low, right.b1.low);
    }
    multiply(sum, a0.high, a1.high, a2.high, a3.high, right.b0.high, right.b1.high);
  }

 private:
  static __device__ __forceinline__ void multiply(float (&sum)[4], std::uint32_t a0,
                                                  std::uint32_t a1, std::uint32_t a2,
                                                  std::uint32_t a3, std::uint32_t b0,
                                                  std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
};

/// Two of a row's elements, as a product's k-th and (k + 4)-th: which is which does not matter
/// where both operands have them so.
__device__ __forceinline__ float2 pair_at(const float* at) {
  return *reinterpret_cast<const float2*>(at);
}
__device__ __forceinline__ float4 four_at(const float* at) {
  return *reinterpret_cast<const float4*>(at);
}

/// Rounds tiles of the block in shared memory, once for all uses as left operands. For all threads
/// of the block, which wait for each other before they use them.
template <int Elements, int Threads>
__device__ void round_tiles(float* tiles) {
#pragma unroll 4
  for (int i = 4 * threadIdx.x; i < Elements; i += 4 * Threads) {
    float4& x = *reinterpret_cast<float4*>(tiles + i);
    x = make_float4(rounded(x.x), rounded(x.y), rounded(x.z), rounded(x.w));
  }
}

/// The warp's rows of a tile in shared memory, rounded there or not, 8 columns from k on of each 16
/// rows at a time.
template <int Width, bool AreRounded>
struct SharedRows {
  const float* at;
  template <int RowTiles>
  __device__ SharedRows(const float* tile, const Place<RowTiles>& place)
      : at(tile + place.row(0) * Tile<Width>::stride + 2 * place.t) {}
  template <int Terms>
  __device__ __forceinline__ Left<Terms> left(int row_tile, int k) const {
    const float* const upper_at = at + 16 * row_tile * Tile<Width>::stride + k;
    const float2 upper = pair_at(upper_at), lower = pair_at(upper_at + 8 * Tile<Width>::stride);
    return {upper.x, lower.x, upper.y, lower.y, AreRounded};
  }
};

/// The same, kept in registers.
template <int Width, int RowTiles>
struct KeptRows {
  float rows[RowTiles][Width / 8][4];
  __device__ __forceinline__ KeptRows(const float* tile, const Place<RowTiles>& place) {
    const SharedRows<Width, false> shared(tile, place);
#pragma unroll
    for (int m = 0; m < RowTiles; ++m)
#pragma unroll
      for (int k = 0; k < Width / 8; ++k) {
        const Left<1> left = shared.template left<1>(m, 8 * k);
        rows[m][k][0] = __uint_as_float(left.a0.high),
        rows[m][k][1] = __uint_as_float(left.a1.high);
        rows[m][k][2] = __uint_as_float(left.a2.high),
        rows[m][k][3] = __uint_as_float(left.a3.high);
      }
  }
  template <int Terms>
  __device__ __forceinline__ Left<Terms> left(int row_tile, int k) const {
    const float(&a)[4] = rows[row_tile][k / 8];
    return {a[0], a[1], a[2], a[3], true};
  }
};

template <int Columns>
__device__ __forceinline__ void clear(float (&sums)[Columns][4]) {
#pragma unroll
  for (auto& of_columns : sums)
#pragma unroll
    for (float& x : of_columns) x = 0;
}
template <int RowTiles, int Columns>
__device__ __forceinline__ void clear(float (&sums)[RowTiles][Columns][4]) {
#pragma unroll
  for (auto& of_rows : sums) clear(of_rows);
}

/// scores = the warp's rows . the rows of a streamed tile.
template <int Terms, int Width, class Rows, int RowTiles>
__device__ __forceinline__ void row_products(const Rows& rows, const float* streamed,
                                             const Place<RowTiles>& place,
                                             Scores<RowTiles>& scores) {
  constexpr int stride = Tile<Width>::stride;
  clear(scores);
  const float* const columns = streamed + place.streamed(place.g) * stride + 2 * place.t;
#pragma unroll(Width <= 64 ? Width / 8 : 4)
  for (int k = 0; k < Width; k += 8) {
    Right<Terms> right[streamed_rows / 8];
#pragma unroll
    for (int n = 0; n < streamed_rows / 8; ++n) {
      const float2 both = pair_at(columns + 8 * n * stride + k);
      right[n] = {both.x, both.y};
    }
#pragma unroll
    for (int m = 0; m < RowTiles; ++m) {
      const Left<Terms> left = rows.template left<Terms>(m, k);
#pragma unroll
      for (int n = 0; n < streamed_rows / 8; ++n) left.times(right[n], scores[m][n]);
    }
  }
}

/// sums += weights . the columns of a streamed tile from `streamed` on. A product's k-th and (k +
/// 4)-th row are the tile's that the weights lie at, and four products side by side have of each 32
/// columns what one read of four brings. Tensor cores cut off where they add (Fasi et al. 2021,
/// doi:10.7717/peerj-cs.330), always towards zero: over all tiles of a long sequence that would be
/// ten times what rounding loses. So each tile is summed by itself and added as floats are, to
/// nearest.
template <int Terms, int Width, int RowTiles, int Tiles>
__device__ __forceinline__ void weighted_rows(const Scores<RowTiles>& weights,
                                              const float* streamed, const Place<RowTiles>& place,
                                              float (&sums)[RowTiles][Tiles][4]) {
  constexpr int stride = Tile<Width>::stride;
  const float* const first = streamed + place.streamed(0, 0) * stride + 4 * place.g;
  const float* const second = streamed + place.streamed(0, 1) * stride + 4 * place.g;
#pragma unroll
  for (int c = 0; c < Tiles; c += 4) {
    float of_tile[RowTiles][4][4];
    clear(of_tile);
#pragma unroll
    for (int k = 0; k < streamed_rows / 8; ++k) {
      const float4 above = four_at(first + 8 * k * stride + 8 * c),
                   below = four_at(second + 8 * k * stride + 8 * c);
      const Right<Terms> right[4] = {
          {above.x, below.x}, {above.y, below.y}, {above.z, below.z}, {above.w, below.w}};
#pragma unroll
      for (int m = 0; m < RowTiles; ++m) {
        const Left<Terms> left(weights[m][k][0], weights[m][k][2], weights[m][k][1],
                               weights[m][k][3]);
#pragma unroll
        for (int n = 0; n < 4; ++n) left.times(right[n], of_tile[m][n]);
      }
    }
#pragma unroll
    for (int m = 0; m < RowTiles; ++m)
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[m][c + n][e] += of_tile[m][n][e];
  }
}

/// Stores the sums of row place.row(half) from column `first_column` on, times `factor`, elements
/// below `width` alone.
template <int Tiles, int RowTiles>
__device__ void store_row(const float (&sums)[Tiles][4], int half, const Place<RowTiles>& place,
                          int first_column, int width, float* row, float factor) {
#pragma unroll
  for (int n = 0; n < Tiles; n += 4)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int c = first_column + place.columns(n) + 4 * e;
      float x[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = sums[n + i][2 * half + e] * factor;
      if (c + 4 <= width && reinterpret_cast<std::uintptr_t>(row + c) % 16 == 0) {
        *reinterpret_cast<float4*>(row + c) = make_float4(x[0], x[1], x[2], x[3]);
        continue;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (c + i < width) row[c + i] = x[i];
    }
}

/// Stores rows of sums: row r goes to row_of(r), null: nowhere; each times factor_of(half).
template <int RowTiles, int Tiles, class RowOf, class FactorOf>
__device__ void store(const float (&sums)[RowTiles][Tiles][4], const Place<RowTiles>& place,
                      int first_column, int width, RowOf row_of, FactorOf factor_of) {
#pragma unroll
  for (int half = 0; half < 2 * RowTiles; ++half)
    if (auto* const row = row_of(place.row(half)))
      store_row(sums[half / 2], half % 2, place, first_column, width, row, factor_of(half));
}

/// The n-th of a thread's sums.
template <int RowTiles, int Tiles>
__device__ __forceinline__ float& element(float (&sums)[RowTiles][Tiles][4], int n) {
  return sums[n / 4 / Tiles][n / 4 % Tiles][n % 4];
}

/// What the threads of the last slices have in registers comes to those of the first, who have the
/// same rows and columns: handed out one slice after the other by take(given, n), which is asked
/// for `Count` floats by give(n). All threads call it, when they use nothing else of shared memory
/// any more.
template <int Threads, int Slices, int Count, int RowTiles, class Give, class Take>
__device__ void gather_slices(float* shared, const Place<RowTiles>& place, Give give, Take take) {
  if (Slices > 1) __syncthreads();
  for (int slice = 1; slice < Slices; ++slice) {
    float* const at = shared + threadIdx.x % Threads;
    if (place.slice == slice)
#pragma unroll
      for (int n = 0; n < Count; ++n) at[n * Threads] = give(n);
    __syncthreads();
    if (place.slice == 0) take([&](int n) { return at[n * Threads]; });
    __syncthreads();
  }
}

/// Below 2^-126 zero: nothing beside the largest weight of a row, which is near 1.
__device__ __forceinline__ float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

/// Over the 4 threads that share a row.
__device__ inline float row_sum(float v) {
  v += __shfl_xor_sync(0xffffffff, v, 1);
  return v + __shfl_xor_sync(0xffffffff, v, 2);
}
__device__ inline float row_maximum(float v) {
  v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 1));
  return fmaxf(v, __shfl_xor_sync(0xffffffff, v, 2));
}

}  // namespace trainx::kernels::tiles
