// C = A B in tiles of 128 x 256 on Hopper: the tiles of a block, copies of their operands, and
// products. What kernels do beside that they say by a LinearForm.
//
// There is a block for each multiprocessor, which computes one tile after the other. Its warp
// groups:
//   products  two of 64 rows of a tile each, sums in registers, which they round and leave in
//             shared memory before they go on with the next tile
//   the rest  one warp copies: it finds the block's tiles, and copies their operands into a ring of
//             stages in shared memory. Others may finish what products left.
//
// Barriers of a stage: `copied` has the arrival of the copying thread and the bytes of both
// operands; `free` has an arrival of each of the eight warps that read it, of both blocks of a
// pair. Tiles are passed on in the same way, `given` and `read`, and sums of a group to warps that
// finish them: `summed`, and `finished`, when they were read. Every wait is for something earlier
// in the order copies, products, finishes, or for room that the next in this order leaves behind,
// which waits for none of it: so none waits for ever.
#pragma once
#include <type_traits>
#include "kernels/eight.cuh"
#include "kernels/experts/grouped_tiles.hpp"
#include "kernels/hopper/cluster.cuh"
#include "kernels/hopper/matrix_box.cuh"
#include "kernels/hopper/next_tile.cuh"
#include "kernels/hopper/tile_barriers.cuh"
#include "kernels/hopper/tile_sizes.hpp"
#include "kernels/hopper/turns.cuh"
#include "kernels/hopper/values.cuh"
#include "kernels/hopper/wide_product.cuh"

namespace trainx::kernels::hopper {

/// finishes: LinearForm's. Sums that are only stored pass through half as much shared memory, which
/// leaves room for one stage more.
template <bool finishes>
struct LinearCut {
  static constexpr int stages = finishes ? 3 : 4, groups = 2, threads = 128 * (groups + 1),
                       places = stages + 1;
  static constexpr int finishers = 3;  // warps
  static constexpr int left_bytes = tile_rows * tile_depth * 2,
                       right_bytes = tile_columns * tile_depth * 2,
                       stage_bytes = left_bytes + right_bytes;
  // sums of a group: boxes of 64 rows and 64 columns
  static constexpr int boxes = tile_columns / box_columns,
                       staged_boxes = finishes ? boxes : boxes / 2,
                       group_bytes = staged_boxes * box_bytes;
  static constexpr int sums_at = stages * stage_bytes,
                       column_sums_at = sums_at + groups * group_bytes,
                       biases_at = column_sums_at + (finishes ? finishers * tile_columns * 4 : 0),
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

/// right_along_sum: B lies in memory as [columns, depth], else as [depth, columns]. stores_sums: to
/// `c`, by the copy engine, and a bias is added. finishes: warps of the third group read the sums.
/// added_products: of a step of AddedProducts, of 16 columns each, as many as the deepest needs: a
/// count that only a launch knows would make all products wait for each other. 0: none are added.
/// Without warps that finish, two blocks of a cluster compute tiles of the same columns, in_pairs,
/// and each copies half of their right operand to both: a third less to fetch in all.
template <bool right_along_sum_, bool stores_sums_, bool finishes_, int added_products_>
struct LinearForm {
  using Cut = LinearCut<finishes_>;
  static constexpr bool right_along_sum = right_along_sum_, stores_sums = stores_sums_,
                        finishes = finishes_, adds_products = added_products_ > 0,
                        in_pairs = !finishes;
  static constexpr int added_products = added_products_,
                       sharing = in_pairs ? cluster_blocks : 1;  // blocks
};

struct LinearArguments {
  CUtensorMap a, b, c;  // c: where sums are stored
  const void* bias;     // of stored sums
  const void* x;        // what those that finish read
  void* out;            // what they write
  float* column_sums;
  int rows, columns, steps;
  int row_tiles, column_tiles;
  int counter;  // of next_tiles
};

/// Products A_p B_p of `depth`, added to columns [first, first + width) of C.
struct AddedProducts {
  static constexpr int most = 4;
  struct Part {
    CUtensorMap a, b;
    int first, width, depth;
    __device__ __forceinline__ bool reaches(int column) const {
      return first < column + tile_columns && column < first + width;
    }
  };
  Part parts[most];
  int count;
  /// Of the tile at this column.
  __device__ __forceinline__ int steps(int column) const {
    int n = 0;
    for (int p = 0; p < count; ++p)
      if (parts[p].reaches(column)) n += (parts[p].depth + tile_depth - 1) / tile_depth;
    return n;
  }
};
struct NoAddedProducts {};

template <class C>
struct LinearBarriers : TileBarriers<C> {
  __device__ std::uint32_t summed(int group) const { return this->given(2 * C::places + group); }
  __device__ std::uint32_t finished(int group) const { return summed(C::groups + group); }
};

/// Of a result, from `row` and `column` on; row below 0: there is no tile.
struct LinearTile {
  int row, column;
};

/// `i`: of a block's tiles, or a cluster's, whose blocks have neighbouring rows; what lies behind
/// the last row is copied as zeros, and stored nowhere.
template <class Form>
__device__ __forceinline__ LinearTile linear_tile(const LinearArguments& a, int i, int block) {
  // tiles of rows: 132 blocks read about as many rows as columns
  constexpr int band = 16 / Form::sharing;
  const grouped::TileAt t =
      grouped::tile_at<band>(i, (a.row_tiles + Form::sharing - 1) / Form::sharing, a.column_tiles);
  return {(t.row * Form::sharing + block) * tile_rows, t.column * tile_columns};
}

/// What the copying warp gave; one lane of each warp says that it was read.
template <class C>
struct GivenTiles {
  std::uint32_t shared;
  LinearBarriers<C> barriers;
  Ring<C::places> places;
  /// `place`: the tile's.
  __device__ __forceinline__ LinearTile next(int lane, int& place) {
    place = places.stage;
    wait(barriers.given(places.stage), places.parity, Waiting::tile_given);
    const std::uint32_t at = shared + C::tiles_at + 16 * places.stage;
    // the same for all threads of a warp, which the compiler cannot know
    const LinearTile tile{__shfl_sync(0xffffffff, load_int(at), 0),
                          __shfl_sync(0xffffffff, load_int(at + 4), 0)};
    if (lane == 0) arrive(barriers.read(places.stage));
    places.advance();
    return tile;
  }
};

/// One thread.
template <class Form, class T, class Added>
__device__ __forceinline__ void copy_linear_tiles(const LinearArguments& a, const Added& added,
                                                  std::uint32_t shared,
                                                  LinearBarriers<typename Form::Cut> barriers) {
  using C = typename Form::Cut;
  prefetch_map(a.a), prefetch_map(a.b);
  const int block = Form::in_pairs ? block_of_cluster() : 0;
  Ring<C::stages> stages;
  Ring<C::places> places;
  const auto give = [&](const LinearTile& tile) {
    wait(barriers.read(places.stage), places.parity ^ 1, Waiting::tile_read);
    const std::uint32_t at = shared + C::tiles_at + 16 * places.stage;
    store_int(at, tile.row), store_int(at + 4, tile.column);
    arrive(barriers.given(places.stage));
    places.advance();
  };
  // `column`: of B; also a bias's, for bytes of it
  const auto copy = [&](const CUtensorMap& left, const CUtensorMap& right, int k, int row,
                        int column, std::uint32_t biases, int bias_bytes) {
    wait(barriers.free(stages.stage), stages.parity ^ 1, Waiting::operands_free);
    const std::uint32_t copied = barriers.copied(stages.stage),
                        to = shared + stages.stage * C::stage_bytes, to_right = to + C::left_bytes;
    arrive_expecting(copied, C::stage_bytes + bias_bytes);
    load_box(to, left, k, row, 0, copied);
    if (bias_bytes > 0)
      load_bytes(biases, static_cast<const T*>(a.bias) + column, bias_bytes, copied);
    constexpr int panels = C::boxes / Form::sharing;
    if constexpr (Form::in_pairs && Form::right_along_sum) {
      load_box_to_cluster(to_right + block * (C::right_bytes / cluster_blocks), right, k,
                          column + block * (tile_columns / cluster_blocks), 0, copied);
    } else if constexpr (Form::right_along_sum) {
      load_box(to_right, right, k, column, 0, copied);
    } else {
#pragma unroll
      for (int panel = block * panels; panel < block * panels + panels; ++panel)
        if constexpr (Form::in_pairs)
          load_box_to_cluster(to_right + panel * box_bytes, right, column + panel * box_columns, k,
                              0, copied);
        else
          load_box(to_right + panel * box_bytes, right, column + panel * box_columns, k, 0, copied);
    }
    stages.advance();
  };
  NextTile& next_tile = next_tiles[a.counter];
  const int blocks = static_cast<int>(gridDim.x) / Form::sharing,
            count = (a.row_tiles + Form::sharing - 1) / Form::sharing * a.column_tiles;
  for (int i = static_cast<int>(blockIdx.x) / Form::sharing; i < count;) {
    // blocks of a cluster must agree, and take turns that are known
    const int next = Form::in_pairs ? i + blocks : blocks + atomicAdd(&next_tile.taken, 1);
    const LinearTile tile = linear_tile<Form>(a, i, block);
    const std::uint32_t biases = shared + C::biases_at + places.stage * C::bias_bytes;
    const int left = a.columns - tile.column,
              bias_bytes =
                  Form::stores_sums && a.bias ? 2 * (left < tile_columns ? left : tile_columns) : 0;
    give(tile);
    for (int step = 0; step < a.steps; ++step)
      copy(a.a, a.b, step * tile_depth, tile.row, tile.column, biases, step == 0 ? bias_bytes : 0);
    if constexpr (Form::adds_products)
      for (int p = 0; p < added.count; ++p)
        if (const auto& part = added.parts[p]; part.reaches(tile.column))
          for (int k = 0; k < part.depth; k += tile_depth)  // what lies outside is copied as zeros
            copy(part.a, part.b, k, tile.row, tile.column - part.first, biases, 0);
    i = next;
  }
  give({-1, 0});
  if (!Form::in_pairs && atomicAdd(&next_tile.finished, 1) == blocks - 1) next_tile = {0, 0};
}

/// One thread of a warp, which read the stage; so that who copies into it may do so again.
template <class Form>
__device__ __forceinline__ void free_stage(LinearBarriers<typename Form::Cut> barriers, int stage) {
  arrive(barriers.free(stage));
  if constexpr (Form::in_pairs) arrive_at_block(barriers.free(stage), 1 - block_of_cluster());
}

/// A warp group with 64 rows of each tile.
template <class Form, class T, class Added>
__device__ __forceinline__ void multiply_linear_tiles(const LinearArguments& a, const Added& added,
                                                      std::uint32_t shared,
                                                      LinearBarriers<typename Form::Cut> barriers,
                                                      int warp) {
  using C = typename Form::Cut;
  using Product = WideProduct<T, false, !Form::right_along_sum>;
  constexpr int right_step = Form::right_along_sum ? k_major_step : transposed_step;
  const int lane = static_cast<int>(threadIdx.x % 32), group = warp / 4;
  const std::uint32_t stored = shared + C::sums_at + group * C::group_bytes + warp % 4 * 2048,
                      at16 = stored + static_cast<std::uint32_t>(chunk_at(lane % 16, lane / 16));
  GivenTiles<C> tiles{shared, barriers, {}};
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
    const auto multiply = [&](auto products, bool first) {
      wait(barriers.copied(stages.stage), stages.parity, Waiting::operands_copied);
      const std::uint32_t from = shared + stages.stage * C::stage_bytes;
      const Operand a_box = operand(from + group * box_bytes, box_bytes),
                    b_box = operand(from + C::left_bytes, box_bytes);
      begin_products();
#pragma unroll
      for (int k = 0; k < decltype(products)::value; ++k)
        Product::run(sums, further(a_box, k * k_major_step), further(b_box, k * right_step),
                     !first || k > 0);
      commit_products();
      wait_for_products<1>();
      if (!first && lane == 0) free_stage<Form>(barriers, before);
      before = stages.stage;
      stages.advance();
    };
    using Whole = std::integral_constant<int, tile_depth / 16>;
    for (int step = 0; step < a.steps; ++step) multiply(Whole{}, step == 0);
    if constexpr (Form::adds_products)
      for (int step = added.steps(tile.column); step > 0; --step)
        multiply(std::integral_constant<int, Form::added_products>{}, false);
    wait_for_products<0>(sums);
    if (lane == 0) free_stage<Form>(barriers, before);

    if constexpr (Form::finishes) {
      wait(barriers.finished(group), results.parity ^ 1, Waiting::sums_finished);
      results.advance();
    }
    const std::uint32_t biases = shared + C::biases_at + place * C::bias_bytes + 4 * (lane % 4);
    const bool is_biased = Form::stores_sums && a.bias;
#pragma unroll
    for (int box = 0; box < C::boxes; ++box) {
      const int staged = box % C::staged_boxes * box_bytes;
      if constexpr (Form::stores_sums) {
        if (lane == 0) wait_for_stores<C::staged_boxes - 1>();
        __syncwarp();
      }
#pragma unroll
      for (int n = 0; n < 8; n += 2) {  // 8 columns each
        std::uint32_t pairs[4];
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          const int column = 8 * box + n + m, i = 4 * column;
          float low = 0, high = 0;
          if constexpr (Form::stores_sums) {
            const auto bias =
                static_cast<std::uint32_t>(is_biased ? load_int(biases + 16 * column) : 0);
            low = widened(T{static_cast<std::uint16_t>(bias)});
            high = widened(T{static_cast<std::uint16_t>(bias >> 16)});
          }
          pairs[2 * m] = narrow_pair(sums[i] + low, sums[i + 1] + high, T{});
          pairs[2 * m + 1] = narrow_pair(sums[i + 2] + low, sums[i + 3] + high, T{});
        }
        store_matrices<false>((at16 + staged) ^ (n << 4), pairs[0], pairs[1], pairs[2], pairs[3]);
      }
      if constexpr (Form::stores_sums) {
        show_to_async_readers();
        __syncwarp();
        if (lane == 0) {
          if (tile.column + box * box_columns < a.columns)
            store_box(a.c, tile.column + box * box_columns, tile.row + warp * stored_rows, 0,
                      stored + staged);
          commit_stores();
        }
      }
    }
    if constexpr (Form::finishes) {
      __syncwarp();
      if (lane == 0) arrive(barriers.summed(group));
    }
  }
  if (Form::stores_sums && lane == 0) wait_for_stores<0>();
}

/// All threads of a block: `finishers` warps read sums.
template <class Form>
__device__ __forceinline__ void set_up_barriers(LinearBarriers<typename Form::Cut> barriers,
                                                int finishers) {
  using C = typename Form::Cut;
  if (threadIdx.x == 0) {
    for (int i = 0; i < C::stages; ++i) {
      init_barrier(barriers.copied(i), 1);
      init_barrier(barriers.free(i), 4 * C::groups * Form::sharing);
    }
    for (int i = 0; i < C::places; ++i) {
      init_barrier(barriers.given(i), 1);
      init_barrier(barriers.read(i), 4 * C::groups + finishers);
    }
    for (int i = 0; finishers > 0 && i < C::groups; ++i) {
      init_barrier(barriers.summed(i), 4);
      init_barrier(barriers.finished(i), finishers);
    }
    publish_barriers();
  }
  if constexpr (Form::in_pairs)
    meet_cluster();
  else
    __syncthreads();
}

}  // namespace trainx::kernels::hopper
