// Items of work of backward.cuh: who takes which, and the order of their steps and turns.
#pragma once
#include <cstdint>
#include "kernels/attention/hopper/backward_cut.cuh"
#include "kernels/hopper/turns.cuh"
#include "kernels/hopper/values.cuh"

namespace trainx::kernels::hopper {

/// Of an item's part of the query gradients of a tile, and of the last part, in the order in which
/// items are taken.
struct Turn {
  int mine, last;
  __device__ bool is_last() const { return mine == last; }
};

/// Of Seen::lengths alone: what rows that end with padding add to an item of work.
template <Seen Sees>
struct RowLength {};
template <>
struct RowLength<Seen::lengths> {
  int length;  // tokens of the sample
  /// Tiles that are not all padding. Those of queries are seen by those of keys; tiles of padding
  /// by the keys beside them alone, which makes their gradients 0.
  __device__ int tiles_of_keys() const { return (length + tile_keys - 1) / tile_keys; }
  __device__ int tiles_of_queries() const { return (length + tile_queries - 1) / tile_queries; }
};

/// An item of work: keys from key_tile * 128 on, and of each of `group_heads` query heads
/// from `first_head` on the `steps` tiles of queries from first_tile on.
template <Seen Sees>
struct BackwardWork : RowLength<Sees> {
  int sample, key_head, key_tile, first_tile, steps, first_head, group_heads;
  bool long_first;
  __device__ BackwardWork(const BackwardArguments& a, int item) {
    const int last_item = a.items - a.last_rows * a.key_tiles;  // first of the last rows
    long_first = item >= last_item;
    const int row = long_first ? last_item / a.key_tiles + (item - last_item) % a.last_rows
                               : item / a.key_tiles;
    sample = row / a.key_heads, key_head = row % a.key_heads;
    key_tile = long_first ? (item - last_item) / a.last_rows : a.key_tiles - 1 - item % a.key_tiles;
    if constexpr (Sees == Seen::lengths) {
      this->length = __ldg(a.lengths + sample);
      first_tile = key_tile < this->tiles_of_keys() ? 0 : 2 * key_tile;
      steps = (key_tile + 1 < this->tiles_of_keys() ? this->tiles_of_queries()
                                                    : min(2 * key_tile + 2, a.query_tiles)) -
              first_tile;
    } else {
      first_tile = a.causal ? 2 * key_tile : 0;
      steps =
          (Sees == Seen::whole ? a.query_tiles : a.query_ends[sample * a.key_tiles + key_tile]) -
          first_tile;
    }
    group_heads = a.heads / a.key_heads;
    first_head = key_head * group_heads;
  }
  __device__ int all_steps() const { return steps * group_heads; }
  /// Under a causal mask the second group's keys are after all queries of the first tile. With
  /// heads of 64 it leaves this step out, unless there is no other or there are several heads.
  template <int Head>
  __device__ int first_step(const BackwardArguments& a, int group) const {
    return Head == 64 && a.causal && group == 1 && steps > 1 && group_heads == 1 ? 1 : 0;
  }
  __device__ Turn turn(const BackwardArguments& a, int tile) const {
    if constexpr (Sees == Seen::lengths) {
      const int last = this->tiles_of_keys() - 1;
      return tile < this->tiles_of_queries() ? Turn{last - key_tile, last} : Turn{0, 0};
    } else {
      const int first = Sees == Seen::whole
                            ? 0
                            : __ldg(a.first_key_tiles + sample * a.query_tiles + tile),
                last = a.causal ? tile / 2 : a.key_tiles - 1;
      return {long_first ? key_tile - first : last - key_tile, last - first};
    }
  }
};

/// Place in a ring of two after so many advances.
__device__ __forceinline__ Ring<2> place_of(std::uint32_t count) {
  return {static_cast<int>(count & 1), count >> 1 & 1};
}

/// Items of this block, as those hear of them who do not take them. All threads of a warp, or one.
template <int Head, int Threads>
struct Items {
  std::uint32_t shared;
  BackwardBarriers<Head> barriers;
  std::uint32_t heard = 0;
  /// As many as `items` if there is none left.
  __device__ __forceinline__ int next(int items) {
    if constexpr (!BackwardCut<Head>::takes_items)
      return heard++ == 0 ? static_cast<int>(block_index()) : items;
    const Ring<2> at = place_of(heard++);
    wait(barriers.item_given(at.stage), at.parity, Waiting::item_given);
    int item = load_int(shared + BackwardCut<Head>::items_at + 4 * at.stage);
    // the first thread's, so that the compiler knows that all have the same
    if constexpr (Threads > 1) item = __shfl_sync(0xffffffff, item, 0);
    if (Threads == 1 || threadIdx.x % 32 == 0) arrive(barriers.item_free(at.stage));
    return item;
  }
};

/// Tiles of queries in the order in which a block goes over them.
struct QueryTiles {
  int step = 0, head;
  template <class Work>
  __device__ explicit QueryTiles(const Work& work) : head(work.first_head) {}
  template <class Work>
  __device__ __forceinline__ int tile(const Work& work) const {
    return work.first_tile + step;
  }
  template <class Work>
  __device__ __forceinline__ void advance(const Work& work) {
    if (++step == work.steps) step = 0, ++head;
  }
};

}  // namespace trainx::kernels::hopper
