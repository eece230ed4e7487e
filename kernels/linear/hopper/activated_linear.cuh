// C = A B in tiles of 128 x 256 and an activation of it, on Hopper.
//
// There is a block for each multiprocessor, which computes one tile after the other. Its warp
// groups:
//   products  two of 64 rows of a tile each, sums in registers, which they round and leave in
//             shared memory before they go on with the next tile
//   the rest  one warp copies: it finds the block's tiles, and copies their operands into a ring of
//             stages in shared memory. Three warps finish: they compute the activation, or its
//             backward, of what products left, and the column sums of the result, while products of
//             the next tile run. A fourth group would leave products too few registers.
// Arithmetic beside products is slow: a warp issues about one instruction in three clocks while its
// multiprocessor multiplies (H200). Three warps take 17k clocks for GELU's backward of a tile,
// whose products take 12k over 768.
//
// Barriers of a stage: `copied` has the arrival of the copying thread and the bytes of both
// operands; `free` has an arrival of each of the eight warps that read it. Tiles are passed on in
// the same way, `given` and `read`, and sums of a group: `summed`, and `finished`, when they were
// read. Every wait is for something earlier in the order copies, products, finishes, or for room
// that the next in this order leaves behind, which waits for none of it: so none waits for ever.
#pragma once
#include <type_traits>
#include "kernels/activation/quick_slope.cuh"
#include "kernels/eight.cuh"
#include "kernels/experts/grouped_tiles.hpp"
#include "kernels/hopper/matrix_box.cuh"
#include "kernels/hopper/next_tile.cuh"
#include "kernels/hopper/tile_sizes.hpp"
#include "kernels/hopper/turns.cuh"
#include "kernels/hopper/values.cuh"
#include "kernels/hopper/wide_product.cuh"

namespace trainx::kernels::hopper {

enum class Pass : std::uint8_t { forward, backward };

struct LinearArguments {
  CUtensorMap a, b, c;  // c: forward, of sums before the activation
  const void* bias;     // forward
  const void* x;        // backward
  void* out;            // the activation, or the gradient
  float* column_sums;
  int rows, columns, steps;
  int row_tiles, column_tiles;
  int counter;  // of next_tiles
};

struct LinearCut {
  static constexpr int stages = 3, groups = 2, threads = 128 * (groups + 1), places = 4;
  static constexpr int finishers = 3;  // warps
  static constexpr int left_bytes = tile_rows * tile_depth * 2,
                       right_bytes = tile_columns * tile_depth * 2,
                       stage_bytes = left_bytes + right_bytes;
  // sums of a group: boxes of 64 rows and 64 columns
  static constexpr int boxes = tile_columns / box_columns, group_bytes = boxes * box_bytes;
  static constexpr int sums_at = stages * stage_bytes,
                       column_sums_at = sums_at + groups * group_bytes,
                       biases_at = column_sums_at + finishers * tile_columns * 4,
                       bias_bytes = tile_columns * 2,  // of a place
      tiles_at = biases_at + places * bias_bytes, barriers_at = tiles_at + places * 16,
                       shared_bytes = barriers_at + 8 * (2 * stages + 2 * places + 2 * groups);
  static_assert(shared_bytes <= 227 * 1024);
  // a place's bias is free when its tile was multiplied, which the copies of `stages` steps show
  static_assert(places > stages);
  // of a thread: a block has 65536
  static constexpr int other_registers = 136, computing_registers = 184;
  static_assert(128 * (other_registers + groups * computing_registers) <= 65536);
};

struct LinearBarriers {
  using C = LinearCut;
  std::uint32_t first;
  __device__ std::uint32_t copied(int stage) const { return first + 8 * stage; }
  __device__ std::uint32_t free(int stage) const { return copied(C::stages + stage); }
  __device__ std::uint32_t given(int place) const { return copied(2 * C::stages + place); }
  __device__ std::uint32_t read(int place) const { return given(C::places + place); }
  __device__ std::uint32_t summed(int group) const { return given(2 * C::places + group); }
  __device__ std::uint32_t finished(int group) const { return summed(C::groups + group); }
};

/// Of a result, from `row` and `column` on; row below 0: there is no tile.
struct LinearTile {
  int row, column;
};

__device__ __forceinline__ LinearTile linear_tile(const LinearArguments& a, int i) {
  constexpr int band = 16;  // tiles of rows: 132 blocks read about as many rows as columns
  const grouped::TileAt t = grouped::tile_at<band>(i, a.row_tiles, a.column_tiles);
  return {t.row * tile_rows, t.column * tile_columns};
}

/// What the copying warp gave; one lane of each warp says that it was read.
struct GivenTiles {
  std::uint32_t shared;
  LinearBarriers barriers;
  Ring<LinearCut::places> places;
  /// `place`: the tile's.
  __device__ __forceinline__ LinearTile next(int lane, int& place) {
    place = places.stage;
    wait(barriers.given(places.stage), places.parity, Waiting::tile_given);
    const std::uint32_t at = shared + LinearCut::tiles_at + 16 * places.stage;
    // the same for all threads of a warp, which the compiler cannot know
    const LinearTile tile{__shfl_sync(0xffffffff, load_int(at), 0),
                          __shfl_sync(0xffffffff, load_int(at + 4), 0)};
    if (lane == 0) arrive(barriers.read(places.stage));
    places.advance();
    return tile;
  }
};

/// One thread.
template <Pass pass, class T>
__device__ __forceinline__ void copy_linear_tiles(const LinearArguments& a, std::uint32_t shared,
                                                  LinearBarriers barriers) {
  using C = LinearCut;
  prefetch_map(a.a), prefetch_map(a.b);
  Ring<C::stages> stages;
  Ring<C::places> places;
  const auto give = [&](const LinearTile& tile) {
    wait(barriers.read(places.stage), places.parity ^ 1, Waiting::tile_read);
    const std::uint32_t at = shared + C::tiles_at + 16 * places.stage;
    store_int(at, tile.row), store_int(at + 4, tile.column);
    arrive(barriers.given(places.stage));
    places.advance();
  };
  NextTile& next_tile = next_tiles[a.counter];
  const int blocks = static_cast<int>(gridDim.x), count = a.row_tiles * a.column_tiles;
  for (int i = static_cast<int>(blockIdx.x); i < count;) {
    const int next = blocks + atomicAdd(&next_tile.taken, 1);
    const LinearTile tile = linear_tile(a, i);
    const std::uint32_t biases = shared + C::biases_at + places.stage * C::bias_bytes;
    const int left = a.columns - tile.column,
              bias_bytes = pass == Pass::forward && a.bias
                               ? 2 * (left < tile_columns ? left : tile_columns)
                               : 0;
    give(tile);
    for (int step = 0; step < a.steps; ++step) {
      wait(barriers.free(stages.stage), stages.parity ^ 1, Waiting::operands_free);
      const std::uint32_t copied = barriers.copied(stages.stage),
                          to = shared + stages.stage * C::stage_bytes,
                          to_right = to + C::left_bytes;
      const int k = step * tile_depth;
      arrive_expecting(copied, C::stage_bytes + (step == 0 ? bias_bytes : 0));
      load_box(to, a.a, k, tile.row, 0, copied);
      if (step == 0 && bias_bytes > 0)
        load_bytes(biases, static_cast<const T*>(a.bias) + tile.column, bias_bytes, copied);
      if constexpr (pass == Pass::forward)
        load_box(to_right, a.b, k, tile.column, 0, copied);
      else
#pragma unroll
        for (int panel = 0; panel < C::boxes; ++panel)
          load_box(to_right + panel * box_bytes, a.b, tile.column + panel * box_columns, k, 0,
                   copied);
      stages.advance();
    }
    i = next;
  }
  give({-1, 0});
  if (atomicAdd(&next_tile.finished, 1) == blocks - 1) next_tile = {0, 0};
}

/// A warp group with 64 rows of each tile.
template <Pass pass, class T>
__device__ __forceinline__ void multiply_linear_tiles(const LinearArguments& a,
                                                      std::uint32_t shared, LinearBarriers barriers,
                                                      int warp) {
  using C = LinearCut;
  constexpr bool is_forward = pass == Pass::forward;
  using Product = WideProduct<T, false, !is_forward>;
  constexpr int right_step = is_forward ? k_major_step : transposed_step;
  const int lane = static_cast<int>(threadIdx.x % 32), group = warp / 4;
  const std::uint32_t stored = shared + C::sums_at + group * C::group_bytes + warp % 4 * 2048,
                      at16 = stored + static_cast<std::uint32_t>(chunk_at(lane % 16, lane / 16));
  GivenTiles tiles{shared, barriers, {}};
  Ring<C::stages> stages;
  Ring<1> results;
  float sums[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) sums[i] = 0;
  while (true) {
    int place = 0;
    const LinearTile tile = tiles.next(lane, place);
    if (tile.row < 0) break;
    int before = 0;  // the stage that products of the last step read
    for (int step = 0; step < a.steps; ++step) {
      wait(barriers.copied(stages.stage), stages.parity, Waiting::operands_copied);
      const std::uint32_t from = shared + stages.stage * C::stage_bytes;
      const Operand a_box = operand(from + group * box_bytes, box_bytes),
                    b_box = operand(from + C::left_bytes, box_bytes);
      begin_products();
#pragma unroll
      for (int k = 0; k < tile_depth / 16; ++k)
        Product::run(sums, further(a_box, k * k_major_step), further(b_box, k * right_step),
                     step > 0 || k > 0);
      commit_products();
      wait_for_products<1>();
      if (step > 0 && lane == 0) arrive(barriers.free(before));
      before = stages.stage;
      stages.advance();
    }
    wait_for_products<0>(sums);
    if (lane == 0) arrive(barriers.free(before));

    wait(barriers.finished(group), results.parity ^ 1, Waiting::sums_finished);
    results.advance();
    if (is_forward) {
      if (lane == 0) wait_for_stores();
      __syncwarp();
    }
    const std::uint32_t biases = shared + C::biases_at + place * C::bias_bytes + 4 * (lane % 4);
    const bool is_biased = is_forward && a.bias;
#pragma unroll
    for (int n = 0; n < 32; n += 2) {  // 8 columns each
      std::uint32_t pairs[4];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        float low = 0, high = 0;
        if constexpr (is_forward) {
          const auto bias =
              static_cast<std::uint32_t>(is_biased ? load_int(biases + 16 * (n + m)) : 0);
          low = widened(T{static_cast<std::uint16_t>(bias)});
          high = widened(T{static_cast<std::uint16_t>(bias >> 16)});
        }
        const int i = 4 * (n + m);
        pairs[2 * m] = narrow_pair(sums[i] + low, sums[i + 1] + high, T{});
        pairs[2 * m + 1] = narrow_pair(sums[i + 2] + low, sums[i + 3] + high, T{});
      }
      store_matrices<false>((at16 + n / 8 * box_bytes) ^ (n % 8 << 4), pairs[0], pairs[1], pairs[2],
                            pairs[3]);
    }
    if (is_forward) show_to_async_readers();
    __syncwarp();
    if (lane != 0) continue;
    arrive(barriers.summed(group));
    if (is_forward) {
#pragma unroll
      for (int box = 0; box < C::boxes; ++box)
        if (tile.column + box * box_columns < a.columns)
          store_box(a.c, tile.column + box * box_columns, tile.row + warp * stored_rows, 0,
                    stored + box * box_bytes);
      commit_stores();
    }
  }
  if (is_forward && lane == 0) wait_for_stores();
}

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
  using C = LinearCut;
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
                                                      LinearBarriers barriers) {
  using W = FinishingWarp;
  constexpr int together = 4;  // rows
  GivenTiles tiles{w.shared, barriers, {}};
  Ring<1> results;
  int place = 0;
  for (LinearTile tile = tiles.next(w.lane, place); tile.row >= 0;
       tile = tiles.next(w.lane, place)) {
#pragma unroll 1
    for (int group = 0; group < LinearCut::groups; ++group) {
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
  using C = LinearCut;
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
                                                           LinearBarriers barriers) {
  using W = FinishingWarp;
  constexpr int parts = LinearCut::groups * W::parts;
  GivenTiles tiles{w.shared, barriers, {}};
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
__global__ void __launch_bounds__(LinearCut::threads, 1)
    hopper_activated_gemm_kernel(const __grid_constant__ LinearArguments a) {
  using C = LinearCut;
  // the first of a block's shared memory lies at 1024 bytes, as boxes want it
  extern __shared__ __align__(1024) unsigned char memory[];
  const std::uint32_t shared = shared_address(memory);
  const LinearBarriers barriers{shared + C::barriers_at};
  const int warp = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < C::stages; ++i) {
      init_barrier(barriers.copied(i), 1);
      init_barrier(barriers.free(i), 4 * C::groups);
    }
    for (int i = 0; i < C::places; ++i) {
      init_barrier(barriers.given(i), 1);
      init_barrier(barriers.read(i), 4 * C::groups + C::finishers);
    }
    for (int i = 0; i < C::groups; ++i) {
      init_barrier(barriers.summed(i), 4);
      init_barrier(barriers.finished(i), C::finishers);
    }
    publish_barriers();
  }
  __syncthreads();
  if (warp < 4 * C::groups) {
    take_registers<C::computing_registers>();
    multiply_linear_tiles<pass, T>(a, shared, barriers, warp);
  } else {
    give_registers<C::other_registers>();
    const FinishingWarp finishing{a, shared, warp - 4 * C::groups,
                                  static_cast<int>(threadIdx.x % 32)};
    if (finishing.warp == C::finishers) {
      if (finishing.lane == 0) copy_linear_tiles<pass, T>(a, shared, barriers);
    } else if constexpr (pass == Pass::forward) {
      activate_linear_tiles<kind, T>(finishing, barriers);
    } else {
      differentiate_linear_tiles<kind, T>(finishing, barriers);
    }
  }
}

}  // namespace trainx::kernels::hopper
