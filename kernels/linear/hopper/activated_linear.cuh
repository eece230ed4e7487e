// C = A B (linear_tiles.cuh) and an activation of it, on Hopper.
//
// Three warps finish: they compute the activation, or its backward, of what products left, and the
// column sums of the result, while products of the next tile run. A fourth group would leave
// products too few registers. Arithmetic beside products is slow: a warp issues about one
// instruction in three clocks while its multiprocessor multiplies (H200). Three warps take 17k
// clocks for GELU's backward of a tile, whose products take 12k over 768.
#pragma once
#include <type_traits>
#include "kernels/activation/quick_slope.cuh"
#include "kernels/linear/hopper/linear_tiles.cuh"

namespace trainx::kernels::hopper {

enum class Pass : std::uint8_t { forward, backward };

template <Pass pass>
using ActivatedForm = LinearForm<pass == Pass::forward, pass == Pass::forward, true, 0>;
using ActivatedCut = ActivatedForm<Pass::forward>::Cut;

__device__ __forceinline__ uint4 load_eight(std::uint32_t shared) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(shared)
               : "memory");
  return x;
}

/// What a finishing warp has of a tile: every third row, its lanes eight columns each.
struct FinishingWarp {
  using C = ActivatedCut;
  static constexpr int at_once = 8, rows_at_once = C::finishers * at_once,
                       parts = (box_rows + rows_at_once - 1) / rows_at_once;  // of a group's rows
  const LinearArguments& a;
  std::uint32_t shared;
  int warp, lane;

  /// Row i of a part of a group's rows; 64 and more: there is no such row.
  __device__ __forceinline__ int row(int part, int i) const {
    return part * rows_at_once + C::finishers * i + warp;
  }
  __device__ __forceinline__ bool exists(const LinearTile& tile, int group, int row) const {
    return row < box_rows && tile.row + group * box_rows + row < a.rows &&
           tile.column + 8 * lane < a.columns;
  }
  __device__ __forceinline__ std::int64_t element(const LinearTile& tile, int group,
                                                  int row) const {
    return static_cast<std::int64_t>(tile.row + group * box_rows + row) * a.columns + tile.column +
           8 * lane;
  }
  __device__ __forceinline__ uint4 sums(int group, int row) const {
    return load_eight(shared + C::sums_at + group * C::group_bytes + lane / 8 * box_bytes +
                      static_cast<std::uint32_t>(chunk_at(row, lane % 8)));
  }
  template <class T>
  __device__ __forceinline__ void store(const LinearTile& tile, int group, int row,
                                        const Eight<T>& values) const {
    *reinterpret_cast<uint4*>(static_cast<T*>(a.out) + element(tile, group, row)) = values.at[0];
  }
};

template <ActivationKind kind, class T>
__device__ __forceinline__ void activate_linear_tiles(const FinishingWarp& w,
                                                      LinearBarriers<ActivatedCut> barriers) {
  using W = FinishingWarp;
  constexpr int together = 4;  // rows
  GivenTiles<ActivatedCut> tiles{w.shared, barriers, {}};
  Ring<1> results;
  int place = 0;
  for (LinearTile tile = tiles.next(w.lane, place); tile.row >= 0;
       tile = tiles.next(w.lane, place)) {
#pragma unroll 1
    for (int group = 0; group < ActivatedCut::groups; ++group) {
      wait(barriers.summed(group), results.parity, Waiting::sums_written);
#pragma unroll 1
      for (int part = 0; part < W::parts; ++part)
#pragma unroll
        for (int first = 0; first < W::at_once; first += together) {
          Eight<T> sums[together];
#pragma unroll
          for (int i = 0; i < together; ++i)
            sums[i].at[0] = w.sums(group, w.row(part, first + i) % box_rows);
#pragma unroll
          for (int i = 0; i < together; ++i) {
            float x[8];
            widen8(sums[i], x);
#pragma unroll
            for (int j = 0; j < 8; ++j) x[j] = value_and_slope<kind, T>(x[j]).value;
            narrow8(x, sums[i]);
          }
#pragma unroll
          for (int i = 0; i < together; ++i)
            if (w.exists(tile, group, w.row(part, first + i)))
              w.store(tile, group, w.row(part, first + i), sums[i]);
        }
      __syncwarp();
      if (w.lane == 0) arrive(barriers.finished(group));
    }
    results.advance();
  }
}

/// Sums of columns over the warps, for this tile of rows.
__device__ __forceinline__ void store_column_sums(const FinishingWarp& w, const LinearTile& tile,
                                                  const float (&sums)[8]) {
  using C = ActivatedCut;
  constexpr int threads = 32 * C::finishers;
  const std::uint32_t to = w.shared + C::column_sums_at;
  sync_threads(2, threads);  // the last tile's were read
  store_four(to + (w.warp * tile_columns + 8 * w.lane) * 4, sums);
  store_four(to + (w.warp * tile_columns + 8 * w.lane + 4) * 4, sums + 4);
  sync_threads(2, threads);
  for (int c = 2 * (w.warp * 32 + w.lane); c < tile_columns && tile.column + c < w.a.columns;
       c += 2 * threads) {
    float2 total = make_float2(0, 0);
#pragma unroll
    for (int i = 0; i < C::finishers; ++i) {
      const float2 of_warp = load_pair(to + (i * tile_columns + c) * 4);
      total.x += of_warp.x, total.y += of_warp.y;
    }
    *reinterpret_cast<float2*>(w.a.column_sums +
                               static_cast<std::int64_t>(tile.row / tile_rows) * w.a.columns +
                               tile.column + c) = total;
  }
}

template <ActivationKind kind, class T>
__device__ __forceinline__ void differentiate_linear_tiles(const FinishingWarp& w,
                                                           LinearBarriers<ActivatedCut> barriers) {
  using W = FinishingWarp;
  constexpr int parts = ActivatedCut::groups * W::parts;
  GivenTiles<ActivatedCut> tiles{w.shared, barriers, {}};
  Ring<1> results;
  const auto fetch = [&](const LinearTile& tile, int part, uint4(&to)[W::at_once]) {
#pragma unroll
    for (int i = 0; i < W::at_once; ++i) {
      const int group = part / W::parts, row = w.row(part % W::parts, i);
      to[i] = make_uint4(0, 0, 0, 0);
      if (tile.row >= 0 && w.exists(tile, group, row))
        to[i] = __ldcs(reinterpret_cast<const uint4*>(static_cast<const T*>(w.a.x) +
                                                      w.element(tile, group, row)));
    }
  };
  uint4 ahead[W::at_once];
  int place = 0;
  LinearTile next = tiles.next(w.lane, place);
  fetch(next, 0, ahead);
  while (next.row >= 0) {
    const LinearTile tile = next;
    float column_sums[8] = {};
#pragma unroll 1
    for (int part = 0; part < parts; ++part) {
      const int group = part / W::parts;
      uint4 now[W::at_once];
#pragma unroll
      for (int i = 0; i < W::at_once; ++i) now[i] = ahead[i];
      if (part + 1 < parts) {
        fetch(tile, part + 1, ahead);
      } else {
        next = tiles.next(w.lane, place);
        fetch(next, 0, ahead);
      }
      if (part % W::parts == 0) wait(barriers.summed(group), results.parity, Waiting::sums_written);
#pragma unroll
      for (int i = 0; i < W::at_once; ++i) {
        const int row = w.row(part % W::parts, i);
        if (row >= box_rows) continue;
        Eight<T> sums{{w.sums(group, row)}};
        float d[8], x[8];
        widen8(sums, d);
        widen8(Eight<T>{{now[i]}}, x);
#pragma unroll
        for (int j = 0; j < 8; ++j) d[j] *= quick_slope<kind, T>(x[j]);
        if (w.exists(tile, group, row)) {
          narrow8(d, sums);
          w.store(tile, group, row, sums);
#pragma unroll
          for (int j = 0; j < 8; ++j) column_sums[j] += d[j];
        }
      }
      if (part % W::parts == W::parts - 1) {
        __syncwarp();
        if (w.lane == 0) arrive(barriers.finished(group));
      }
    }
    results.advance();
    if (w.a.column_sums) store_column_sums(w, tile, column_sums);
  }
}

template <Pass pass, ActivationKind kind, class T>
__global__ void __launch_bounds__(ActivatedCut::threads, 1)
    hopper_activated_gemm_kernel(const __grid_constant__ LinearArguments a) {
  using C = ActivatedCut;
  // the first of a block's shared memory lies at 1024 bytes, as boxes want it
  extern __shared__ __align__(1024) unsigned char memory[];
  const std::uint32_t shared = shared_address(memory);
  const LinearBarriers<C> barriers{shared + C::barriers_at};
  const int warp = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0);
  set_up_barriers<ActivatedForm<pass>>(barriers, C::finishers);
  if (warp < 4 * C::groups) {
    take_registers<C::computing_registers>();
    multiply_linear_tiles<ActivatedForm<pass>, T>(a, NoAddedProducts{}, shared, barriers, warp);
  } else {
    give_registers<C::other_registers>();
    const FinishingWarp finishing{a, shared, warp - 4 * C::groups,
                                  static_cast<int>(threadIdx.x % 32)};
    if (finishing.warp == C::finishers) {
      if (finishing.lane == 0)
        copy_linear_tiles<ActivatedForm<pass>, T>(a, NoAddedProducts{}, shared, barriers);
    } else if constexpr (pass == Pass::forward) {
      activate_linear_tiles<kind, T>(finishing, barriers);
    } else {
      differentiate_linear_tiles<kind, T>(finishing, barriers);
    }
  }
}

}  // namespace trainx::kernels::hopper
