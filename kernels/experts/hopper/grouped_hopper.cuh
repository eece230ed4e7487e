// Products of experts on Hopper: C = A B in tiles of 128 x 256, A and B in either layout; either
// A's rows or the sum is cut by expert (grouped_products.hpp).
//
// There is a block for each multiprocessor, which computes one tile after the other. Its warp
// groups:
//   copies    one warp that finds the block's tiles and copies their operands into a ring of stages
//             in shared memory, into the next tile's while results of the last are stored
//   products  two of 64 rows of a tile each, sums in registers; results go through shared memory to
//             the copy engine, 16 rows of a warp at once, while the next products run
//
// Barriers of a stage: `copied` has the arrival of the copying thread and the bytes of both
// operands; `free` has an arrival of each of the eight warps that read it. Tiles are passed on in
// the same way, `given` and `read`. The copying warp waits for nothing but what products free, and
// they wait for nothing but what it copied, in the same order: so none waits for ever.
#pragma once
#include <type_traits>
#include "kernels/eight.cuh"
#include "kernels/experts/grouped_products.hpp"
#include "kernels/experts/grouped_search.cuh"
#include "kernels/experts/hopper/operand_boxes.cuh"
#include "kernels/hopper/next_tile.cuh"
#include "kernels/hopper/tile_barriers.cuh"
#include "kernels/hopper/turns.cuh"
#include "kernels/hopper/values.cuh"
#include "kernels/hopper/wide_product.cuh"

namespace trainx::kernels::hopper {

using grouped::Cut;
using grouped::Layout;

struct ProductArguments {
  CUtensorMap a, b, c;
  const std::int32_t* offsets;
  int experts, rows, columns;   // rows: m, where sums are cut; columns: n
  int row_tiles, column_tiles;  // row_tiles: of a result, where sums are cut
  int steps;                    // along the sum, where rows are cut
  int counter;                  // of next_tiles
  bool accumulate;
};

struct ProductCut {
  static constexpr int stages = 4, groups = 2, threads = 128 * (groups + 1), places = 2;
  static constexpr int left_bytes = tile_rows * tile_depth * 2,
                       right_bytes = tile_columns * tile_depth * 2,
                       stage_bytes = left_bytes + right_bytes;
  // a warp's boxes of results, by turns
  static constexpr int stored_bytes = stored_rows * box_row_bytes, stored_boxes = 2;
  static constexpr int stored_at = stages * stage_bytes,
                       tiles_at = stored_at + 4 * groups * stored_boxes * stored_bytes,
                       barriers_at = tiles_at + places * 16,
                       shared_bytes = barriers_at + 8 * (2 * stages + 2 * places);
  static_assert(shared_bytes <= 227 * 1024);
  // steps that the first group of products goes ahead of the second, so that one multiplies while
  // the other stores results
  static constexpr int lead = 1;
  static_assert(lead < stages);
  // of a thread: a block has 65536
  static constexpr int copying_registers = 40, computing_registers = 232;
  static_assert(128 * (copying_registers + groups * computing_registers) <= 65536);
};

using ProductBarriers = TileBarriers<ProductCut>;

/// Tiles of all experts. All threads of a warp call.
template <Cut cut>
struct Tiles {
  static constexpr int band = 16;  // tiles of rows: 132 blocks read about as many rows as columns
  const ProductArguments& a;
  int row_tiles, count;

  __device__ explicit Tiles(const ProductArguments& of) : a(of), row_tiles(of.row_tiles) {
    if constexpr (cut == Cut::rows) {
      int mine = 0;
      for (int e = static_cast<int>(threadIdx.x % 32); e < a.experts; e += 32)
        mine += (a.offsets[e + 1] - a.offsets[e] + tile_rows - 1) / tile_rows;
      row_tiles = __reduce_add_sync(0xffffffff, mine);
    }
    count = row_tiles * a.column_tiles * (cut == Cut::rows ? 1 : a.experts);
  }
  /// The tile, and its expert.
  __device__ Tile at(int i, int& expert) const {
    if constexpr (cut == Cut::rows) {
      const grouped::TileAt t = grouped::tile_at<band>(i, row_tiles, a.column_tiles);
      grouped::RowRange range{};
      grouped::find_rows<tile_rows>(a.offsets, a.experts, t.row, range);
      expert = range.expert;
      return {range.first, t.column * tile_columns, range.end, a.steps};
    } else {
      const int each = row_tiles * a.column_tiles;
      expert = i / each;
      const grouped::TileAt t = grouped::tile_at<band>(i % each, row_tiles, a.column_tiles);
      const int rows = a.offsets[expert + 1] - a.offsets[expert];
      return {t.row * tile_rows, t.column * tile_columns, expert,
              (rows + tile_depth - 1) / tile_depth};
    }
  }
};

/// Boxes of an operand's columns of a tile of which some exist, of so many that are left.
template <int tile>
__device__ __forceinline__ int panels_of(int left) {
  return left < tile ? (left + box_columns - 1) / box_columns : tile / box_columns;
}

/// One warp.
template <Layout left, Layout right, Cut cut>
__device__ __forceinline__ void copy_tiles(const ProductArguments& a, std::uint32_t shared,
                                           ProductBarriers barriers) {
  using C = ProductCut;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (lane == 0) prefetch_map(a.a), prefetch_map(a.b);
  Ring<C::stages> stages;
  Ring<C::places> places;
  const auto give = [&](const Tile& tile) {
    wait(barriers.read(places.stage), places.parity ^ 1, Waiting::tile_read);
    const std::uint32_t at = shared + C::tiles_at + 16 * places.stage;
    store_int(at, tile.row), store_int(at + 4, tile.column);
    store_int(at + 8, tile.expert_or_end), store_int(at + 12, tile.steps);
    arrive(barriers.given(places.stage));
    places.advance();
  };
  const Tiles<cut> tiles(a);
  NextTile& next_tile = next_tiles[a.counter];
  const int blocks = static_cast<int>(gridDim.x);
  int i = static_cast<int>(blockIdx.x);
  while (i < tiles.count) {
    int next = 0, expert = 0, first = 0, end = 0;
    if (lane == 0) next = blocks + atomicAdd(&next_tile.taken, 1);
    const Tile tile = tiles.at(i, expert);
    if constexpr (cut == Cut::sum)  // rows that are summed over
      first = a.offsets[expert], end = a.offsets[expert + 1];
    // without rows the result is zeros, or stays what it is
    if (lane == 0 && (tile.steps > 0 || !a.accumulate)) {
      give(tile);
      for (int step = 0; step < tile.steps; ++step) {
        wait(barriers.free(stages.stage), stages.parity ^ 1, Waiting::operands_free);
        const std::uint32_t copied = barriers.copied(stages.stage),
                            to = shared + stages.stage * C::stage_bytes,
                            to_right = to + C::left_bytes;
        const int k = step * tile_depth;
        if constexpr (cut == Cut::rows) {
          static_assert(left == Layout::along);
          arrive_expecting(copied, C::stage_bytes);
          load_clipped<tile_rows>(to, a.a, k, tile.row, tile.expert_or_end - tile.row, copied);
          if constexpr (right == Layout::along)
            load_box(to_right, a.b, k, tile.column, expert, copied);
          else
#pragma unroll
            for (int panel = 0; panel < tile_columns / box_columns; ++panel)
              load_box(to_right + panel * box_bytes, a.b, tile.column + panel * box_columns, k,
                       expert, copied);
        } else {
          static_assert(left == Layout::across && right == Layout::across);
          // what lies beside the result's rows and columns stays what it was: no result has it
          const int left_panels = panels_of<tile_rows>(a.rows - tile.row),
                    right_panels = panels_of<tile_columns>(a.columns - tile.column);
          arrive_expecting(copied, (left_panels + right_panels) * box_bytes);
          for (int panel = 0; panel < left_panels; ++panel)
            load_clipped<box_rows>(to + panel * box_bytes, a.a, tile.row + panel * box_columns,
                                   first + k, end - first - k, copied);
          for (int panel = 0; panel < right_panels; ++panel)
            load_clipped<box_rows>(to_right + panel * box_bytes, a.b,
                                   tile.column + panel * box_columns, first + k, end - first - k,
                                   copied);
        }
        stages.advance();
      }
    }
    i = __shfl_sync(0xffffffff, next, 0);
  }
  if (lane != 0) return;
  give({0, 0, 0, -1});
  if (atomicAdd(&next_tile.finished, 1) == blocks - 1) next_tile = {0, 0};
}

/// A warp's 16 rows of a result, `sums` of its 64 x 256: box by box through its part of shared
/// memory.
template <Cut cut, class T>
__device__ __forceinline__ void store_result(const ProductArguments& a, const Tile& tile, int row,
                                             const float (&sums)[128], std::uint32_t stored,
                                             int lane) {
  using C = ProductCut;
  // 16 bits: where stmatrix wants a lane's row of 8 elements; 32 bits: where its pairs go
  const std::uint32_t at16 = stored + static_cast<std::uint32_t>(chunk_at(lane % 16, lane / 16));
  const int valid = cut == Cut::rows ? tile.expert_or_end - row : stored_rows;
  if (valid <= 0) return;
  const auto begin = [&] {
    if (lane == 0) wait_for_older_stores();
    __syncwarp();
  };
  const auto end = [&](auto store) {
    show_to_async_readers();
    __syncwarp();
    if (lane == 0) {
      store();
      commit_stores();
    }
  };
  if constexpr (cut == Cut::rows) {
    const ClippedRows to = clipped_rows<stored_rows>(row, valid);
#pragma unroll
    for (int box = 0; box < tile_columns / stored_columns16; ++box) {
      const int column = tile.column + box * stored_columns16;
      if (column >= a.columns) {  // an empty batch counts, too
        if (lane == 0) commit_stores();
        continue;
      }
      const int turn = box % C::stored_boxes * C::stored_bytes;
      begin();
#pragma unroll
      for (int n = 0; n < 8; n += 2) {  // 8 columns each
        const int i = 4 * (8 * box + n);
        store_matrices<false>((at16 + turn) ^ (n << 4), narrow_pair(sums[i], sums[i + 1], T{}),
                              narrow_pair(sums[i + 2], sums[i + 3], T{}),
                              narrow_pair(sums[i + 4], sums[i + 5], T{}),
                              narrow_pair(sums[i + 6], sums[i + 7], T{}));
      }
      end([&] { store_box(a.c, column, to.inside, to.from, stored + turn); });
    }
  } else {
    const bool odd = lane / 4 % 2 != 0, is_empty = tile.steps == 0;
    const auto number = [&](float sum) { return is_empty ? 0.0f : sum; };
#pragma unroll
    for (int box = 0; box < tile_columns / stored_columns32; ++box) {
      const int column = tile.column + box * stored_columns32;
      if (column >= a.columns) {  // an empty batch counts, too
        if (lane == 0) commit_stores();
        continue;
      }
      const int turn = box % C::stored_boxes * C::stored_bytes;
      begin();
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int even_at = 4 * (4 * box + n) + 2 * half,
                    odd_at = 4 * (4 * box + (n ^ 2)) + 2 * half;
          store_pair(stored + turn + half * 8 * box_row_bytes + stored_pair_at(lane, n),
                     number(odd ? sums[odd_at] : sums[even_at]),
                     number(odd ? sums[odd_at + 1] : sums[even_at + 1]));
        }
      end([&] {
        if (a.accumulate)
          add_box(a.c, column, row, tile.expert_or_end, stored + turn);
        else
          store_box(a.c, column, row, tile.expert_or_end, stored + turn);
      });
    }
  }
}

/// A warp group with 64 rows of each tile.
template <Layout left, Layout right, Cut cut, class T>
__device__ __forceinline__ void compute_tiles(const ProductArguments& a, std::uint32_t shared,
                                              ProductBarriers barriers, int warp) {
  using C = ProductCut;
  using Product = WideProduct<T, left == Layout::across, right == Layout::across>;
  constexpr int left_step = left == Layout::along ? k_major_step : transposed_step,
                right_step = right == Layout::along ? k_major_step : transposed_step;
  // rows by 64, or boxes of 64 columns that are rows of the result
  constexpr int group_bytes = box_bytes;
  const int lane = static_cast<int>(threadIdx.x % 32), group = warp / 4,
            first_row = group * 64 + warp % 4 * stored_rows;
  const std::uint32_t stored = shared + C::stored_at + warp * (C::stored_boxes * C::stored_bytes);
  Ring<C::stages> stages;
  Ring<C::places> places;
  float sums[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) sums[i] = 0;
  int leads = group == 0 ? C::lead : 0;  // steps until the second group may begin
  bool lags = group == 1 && C::lead > 0;
  const auto let_begin = [&] { arrive_threads(1, 128 * C::groups); };
  while (true) {
    wait(barriers.given(places.stage), places.parity, Waiting::tile_given);
    const std::uint32_t at = shared + C::tiles_at + 16 * places.stage;
    // the same for all threads of a warp, which the compiler cannot know
    const auto word = [&](int i) { return __shfl_sync(0xffffffff, load_int(at + 4 * i), 0); };
    const Tile tile{word(0), word(1), word(2), word(3)};
    const int steps = tile.steps;
    if (lane == 0) arrive(barriers.read(places.stage));
    places.advance();
    if (steps < 0) break;
    if (lags) sync_threads(1, 128 * C::groups), lags = false;
    if (cut == Cut::rows && tile.row + group * 64 >= tile.expert_or_end) {
      // the expert's rows end before this group's
      for (int step = 0; step < steps; ++step) {
        wait(barriers.copied(stages.stage), stages.parity, Waiting::operands_copied);
        if (lane == 0) arrive(barriers.free(stages.stage));
        stages.advance();
      }
      continue;
    }
    int before = 0;  // the stage that products of the last step read
    for (int step = 0; step < steps; ++step) {
      wait(barriers.copied(stages.stage), stages.parity, Waiting::operands_copied);
      const std::uint32_t from = shared + stages.stage * C::stage_bytes;
      const Operand a_box = operand(from + group * group_bytes, box_bytes),
                    b_box = operand(from + C::left_bytes, box_bytes);
      begin_products();
#pragma unroll
      for (int k = 0; k < tile_depth / 16; ++k)
        Product::run(sums, further(a_box, k * left_step), further(b_box, k * right_step),
                     step > 0 || k > 0);
      commit_products();
      wait_for_products<1>();
      if (step > 0 && lane == 0) arrive(barriers.free(before));
      if (leads > 0 && --leads == 0) let_begin();
      before = stages.stage;
      stages.advance();
    }
    wait_for_products<0>(sums);
    if (steps > 0 && lane == 0) arrive(barriers.free(before));
    if (leads > 0) let_begin(), leads = 0;  // the first tile has fewer steps
    store_result<cut, T>(a, tile, tile.row + first_row, sums, stored, lane);
  }
  if (lane == 0) wait_for_stores();
}

template <Layout left, Layout right, Cut cut, class T>
__global__ void __launch_bounds__(ProductCut::threads, 1)
    hopper_grouped_gemm_kernel(const __grid_constant__ ProductArguments a) {
  using C = ProductCut;
  // the first of a block's shared memory lies at 1024 bytes, as boxes want it
  extern __shared__ __align__(1024) unsigned char memory[];
  const std::uint32_t shared = shared_address(memory);
  const ProductBarriers barriers{shared + C::barriers_at};
  const int warp = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < C::stages; ++i) {
      init_barrier(barriers.copied(i), 1);
      init_barrier(barriers.free(i), 4 * C::groups);
    }
    for (int i = 0; i < C::places; ++i) {
      init_barrier(barriers.given(i), 1);
      init_barrier(barriers.read(i), 4 * C::groups);
    }
    publish_barriers();
  }
  __syncthreads();
  if (warp < 4 * C::groups) {
    take_registers<C::computing_registers>();
    compute_tiles<left, right, cut, T>(a, shared, barriers, warp);
  } else {
    give_registers<C::copying_registers>();
    if (warp == 4 * C::groups) copy_tiles<left, right, cut>(a, shared, barriers);
  }
}

}  // namespace trainx::kernels::hopper
