// Attention backward on Hopper, heads of 64 and 128. An item of work is 128 keys and values of a
// head: a block goes over the tiles of 64 queries that see them (Dao 2023, arXiv:2307.08691,
// algorithm 2), of one query head after the other where several share the keys. Its warp groups:
//   keys     two of 64 keys each: scores and their gradients with keys as rows, S^T = K Q^T and
//            dP^T = V dO^T, so that P^T and dS^T are left operands of dV += P^T dO and dK += dS^T Q
//            as they lie in registers
//   queries  with heads of 64: dQ^T = K^T dS^T, both from shared memory. With heads of 128 there
//            are no registers for a third group that computes; each group of keys takes half of
//            the columns of dQ = dS K, a step later, when the other group's dS is there too
//   service  a warp that copies queries and output gradients several tiles ahead, and warps that
//            send parts of query gradients away
// where P = exp(scale S - lse), dS = P (dP - delta), delta = dO . O; dQ and dK are scaled last.
//
// Sums of query gradients over blocks are made in one order: a counter per tile of queries tells
// whose turn it is, in the order in which items are taken, so that whoever waits waits for an item
// that is under way. Of a head under a causal mask the last keys come first: an item that is waited
// for is two tiles ahead. In the last heads the first keys do, which most queries see, of all these
// heads together: the last items are short, and the multiprocessors end at about the same time.
//
// Turns take two trips to the L2 cache and the sum a third, more time than all products of a tile:
// so parts go through shared memory, where a sending warp for each buffer waits for the turn, lets
// the copy engine store the part or add it, and passes the turn on. The last in turn gets the sum
// of the others into that buffer ahead of time and writes the result: nothing is zeroed and nothing
// converted afterwards.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>
#include "kernels/attention/hopper/box.cuh"
#include "kernels/attention/hopper/hopper_attention.hpp"
#include "kernels/attention/hopper/products.cuh"
#include "kernels/attention/hopper/row_statistics.cuh"
#include "kernels/attention/hopper/turns.cuh"
#include "kernels/attention/hopper/values.cuh"

namespace trainx::kernels::hopper {

struct SendingArguments {
  CUtensorMap query, key, value, d_out, d_query, d_key, d_value;
  float* statistics;  // of row_statistics()
  // [B * H, query_tiles, 64 * Head]: sums so far of a query gradient, as they lie in shared memory
  float* partial;
  int* turns;      // [B * H, query_tiles]
  int* next_item;  // that no block has taken; at first 0
  int tokens, heads, key_heads, query_tiles, key_tiles;
  int items;      // B * K * key_tiles
  int last_rows;  // of B * K: keys that most queries see come first
  bool causal;
  float scale, scale_log2;  // the latter times log2(e)
};

template <int Head>
struct SendingCut {
  static constexpr int queries = tile_queries, group_keys = 64, keys = 128,
                       panels = Head / box_columns;
  static constexpr bool query_group = Head == 64;
  static constexpr int stages = Head == 64 ? 4 : 2,
                       buffers = 2,  // of score gradients
      parts = Head == 64 ? 3 : 2,    // of query gradients, and warps that send them
      key_buffers = Head == 64 ? 2 : 1;
  static constexpr int threads = query_group ? 512 : 384;
  // A block for each multiprocessor, which takes items until there is none left: copies of the next
  // item hide behind the last steps of one. With heads of 128 registers do not allow it, and items
  // have twice the products: a block has one item.
  static constexpr bool takes_items = Head == 64;
  // of a thread, by role; all threads start with equal numbers of a multiprocessor's 65536
  static constexpr int key_registers = query_group ? 200 : 240,
                       query_registers = query_group ? 80 : 0,
                       service_registers = query_group ? 32 : 24;
  static_assert((2 * key_registers + query_registers + service_registers) * 128 <= 65536);
  static constexpr int tile_bytes = panels * box_bytes, statistics_bytes = 2 * queries * 4,
                       part_bytes = queries * Head * 4,
                       panel_bytes = 2 * box_bytes,  // of keys and of values
      value_bytes = panels * panel_bytes;
  static constexpr int query_at = key_buffers * 2 * value_bytes,  // keys and values before
      d_out_at = query_at + stages * tile_bytes, d_score_at = d_out_at + stages * tile_bytes,
                       part_at = d_score_at + buffers * 2 * box_bytes,
                       statistics_at = part_at + parts * part_bytes,
                       items_at = statistics_at + stages * statistics_bytes,
                       barriers_at = items_at + 16;
  static constexpr int barriers = 9 + 4 * stages + 2 * buffers + 2 * parts;
  static constexpr int shared_bytes = barriers_at + 8 * barriers + atom_bytes;  // and alignment
  static_assert(shared_bytes <= 227 << 10);
};

template <int Head>
struct SendingBarriers {
  using Cut = SendingCut<Head>;
  std::uint32_t at;
  __device__ std::uint32_t block_copied(int block) const { return at + 8 * block; }
  /// Keys and values were read, and gradients written from their place.
  __device__ std::uint32_t keys_free(int block) const { return at + 8 * (2 + block); }
  /// Keys were read for all query gradients.
  __device__ std::uint32_t keys_read() const { return at + 8 * 4; }
  __device__ std::uint32_t item_given(int item) const { return at + 8 * (5 + item); }
  __device__ std::uint32_t item_free(int item) const { return at + 8 * (7 + item); }
  __device__ std::uint32_t query_copied(int stage) const { return at + 8 * (9 + stage); }
  __device__ std::uint32_t d_out_copied(int stage) const {
    return query_copied(stage) + 8 * Cut::stages;
  }
  __device__ std::uint32_t query_free(int stage) const {
    return query_copied(stage) + 16 * Cut::stages;
  }
  __device__ std::uint32_t d_out_free(int stage) const {
    return query_copied(stage) + 24 * Cut::stages;
  }
  __device__ std::uint32_t d_score_written(int buffer) const {
    return query_copied(buffer) + 32 * Cut::stages;
  }
  __device__ std::uint32_t d_score_free(int buffer) const {
    return d_score_written(buffer) + 8 * Cut::buffers;
  }
  /// There is room for a part; where this block is the last in turn, with the sum of those before.
  __device__ std::uint32_t part_ready(int part) const {
    return d_score_written(part) + 16 * Cut::buffers;
  }
  __device__ std::uint32_t part_written(int part) const {
    return part_ready(part) + 8 * Cut::parts;
  }
};

/// An item of work: keys from key_tile * 128 on, and of each of `group_heads` query heads
/// from `first_head` on the `steps` tiles of queries from first_tile on.
struct SendingWork {
  int sample, key_head, key_tile, first_tile, steps, first_head, group_heads;
  bool long_first;
  __device__ SendingWork(const SendingArguments& a, int item) {
    const int last_item = a.items - a.last_rows * a.key_tiles;  // first of the last rows
    long_first = item >= last_item;
    const int row = long_first ? last_item / a.key_tiles + (item - last_item) % a.last_rows
                               : item / a.key_tiles;
    sample = row / a.key_heads, key_head = row % a.key_heads;
    key_tile = long_first ? (item - last_item) / a.last_rows : a.key_tiles - 1 - item % a.key_tiles;
    first_tile = a.causal ? 2 * key_tile : 0;
    steps = a.query_tiles - first_tile;
    group_heads = a.heads / a.key_heads;
    first_head = key_head * group_heads;
  }
  __device__ int all_steps() const { return steps * group_heads; }
  /// Under a causal mask the second group's keys are after all queries of the first tile. With
  /// heads of 64 it leaves this step out, unless there is no other or there are several heads.
  template <int Head>
  __device__ int first_step(const SendingArguments& a, int group) const {
    return Head == 64 && a.causal && group == 1 && steps > 1 && group_heads == 1 ? 1 : 0;
  }
  /// The order in which items are taken.
  __device__ int turn(const SendingArguments& a, int tile) const {
    return long_first ? key_tile : last_turn(a, tile) - key_tile;
  }
  static __device__ int last_turn(const SendingArguments& a, int tile) {
    return a.causal ? tile / 2 : a.key_tiles - 1;
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
  SendingBarriers<Head> barriers;
  std::uint32_t heard = 0;
  /// As many as `items` if there is none left.
  __device__ __forceinline__ int next(int items) {
    if constexpr (!SendingCut<Head>::takes_items)
      return heard++ == 0 ? static_cast<int>(block_index()) : items;
    const Ring<2> at = place_of(heard++);
    wait(barriers.item_given(at.stage), at.parity, Waiting::item_given);
    int item = load_int(shared + SendingCut<Head>::items_at + 4 * at.stage);
    // the first thread's, so that the compiler knows that all have the same
    if constexpr (Threads > 1) item = __shfl_sync(0xffffffff, item, 0);
    if (Threads == 1 || threadIdx.x % 32 == 0) arrive(barriers.item_free(at.stage));
    return item;
  }
};

/// Tiles of queries in the order in which a block goes over them.
struct QueryTiles {
  int step = 0, head;
  __device__ explicit QueryTiles(const SendingWork& work) : head(work.first_head) {}
  __device__ __forceinline__ int tile(const SendingWork& work) const {
    return work.first_tile + step;
  }
  __device__ __forceinline__ void advance(const SendingWork& work) {
    if (++step == work.steps) step = 0, ++head;
  }
};

/// Takes items until there is none left, and copies their keys, values, and all tiles of queries
/// and output gradients. One thread.
template <int Head>
__device__ __forceinline__ void copy_tiles(const SendingArguments& a, std::uint32_t shared,
                                           SendingBarriers<Head> barriers) {
  using Cut = SendingCut<Head>;
  Ring<2> items;
  Ring<Cut::key_buffers> blocks;
  Ring<Cut::stages> ring;
  while (true) {
    int item;
    if constexpr (Cut::takes_items) {
      wait(barriers.item_free(items.stage), items.parity ^ 1, Waiting::item_free);
      item = atomicAdd(a.next_item, 1);
      store_int(shared + Cut::items_at + 4 * items.stage, item);
      arrive(barriers.item_given(items.stage));
      items.advance();
      if (item >= a.items) return;
    } else {
      item = static_cast<int>(block_index());
    }
    const SendingWork work(a, item);
    const int block = blocks.stage;
    wait(barriers.keys_free(block), blocks.parity ^ 1, Waiting::keys_free);
    arrive_expecting(barriers.block_copied(block), 2 * Cut::value_bytes);
    for (int box = 0; box < 2 * Cut::panels; ++box) {
      const int column = box / 2 * box_columns,
                key = work.key_tile * Cut::keys + box % 2 * Cut::group_keys;
      const std::uint32_t to = shared + block * 2 * Cut::value_bytes + box * box_bytes;
      load_box(to, a.key, column, work.key_head, key, work.sample, barriers.block_copied(block));
      load_box(to + Cut::value_bytes, a.value, column, work.key_head, key, work.sample,
               barriers.block_copied(block));
    }
    blocks.advance();
    QueryTiles tiles(work);
    for (int left = work.all_steps(); left > 0; --left, ring.advance(), tiles.advance(work)) {
      const int stage = ring.stage, tile = tiles.tile(work);
      wait(barriers.query_free(stage), ring.parity ^ 1, Waiting::query_free);
      arrive_expecting(barriers.query_copied(stage), Cut::tile_bytes + Cut::statistics_bytes);
      for (int panel = 0; panel < Cut::panels; ++panel)
        load_box(shared + Cut::query_at + stage * Cut::tile_bytes + panel * box_bytes, a.query,
                 panel * box_columns, tiles.head, tile * Cut::queries, work.sample,
                 barriers.query_copied(stage));
      const std::int64_t row = static_cast<std::int64_t>(work.sample) * a.heads + tiles.head;
      load_bytes(shared + Cut::statistics_at + stage * Cut::statistics_bytes,
                 a.statistics + (row * a.query_tiles + tile) * 2 * Cut::queries,
                 Cut::statistics_bytes, barriers.query_copied(stage));
      wait(barriers.d_out_free(stage), ring.parity ^ 1, Waiting::d_out_free);
      arrive_expecting(barriers.d_out_copied(stage), Cut::tile_bytes);
      for (int panel = 0; panel < Cut::panels; ++panel)
        load_box(shared + Cut::d_out_at + stage * Cut::tile_bytes + panel * box_bytes, a.d_out,
                 panel * box_columns, tiles.head, tile * Cut::queries, work.sample,
                 barriers.d_out_copied(stage));
    }
    if (!Cut::takes_items) return;
  }
}

/// Sends every part of query gradients that comes into buffer `part`. One thread.
template <int Head>
__device__ __forceinline__ void send_parts(const SendingArguments& a, std::uint32_t shared,
                                           SendingBarriers<Head> barriers, int part) {
  using Cut = SendingCut<Head>;
  const std::uint32_t at = shared + Cut::part_at + part * Cut::part_bytes,
                      ready = barriers.part_ready(part);
  Items<Head, 1> items{shared, barriers};
  std::uint32_t parity = 0;
  int buffer = 0;  // of the next part
  while (true) {
    const int item = items.next(a.items);
    if (item >= a.items) return;
    const SendingWork work(a, item);
    QueryTiles tiles(work);
    for (int left = work.all_steps(); left > 0; --left, tiles.advance(work)) {
      const bool is_mine = buffer == part;
      if (++buffer == Cut::parts) buffer = 0;
      if (!is_mine) continue;
      const int tile = tiles.tile(work), turn = work.turn(a, tile);
      const bool is_last = turn == work.last_turn(a, tile);
      const std::int64_t place =
          (static_cast<std::int64_t>(work.sample) * a.heads + tiles.head) * a.query_tiles + tile;
      int* const counter = a.turns + place;
      float* const partial = a.partial + place * (Cut::queries * Head);
      if (!is_last || turn == 0) arrive(ready);
      if (turn > 0) {
        wait_for_turn(counter, turn);
        order_copies();
        if (is_last) {
          arrive_expecting(ready, Cut::part_bytes);
          load_bytes(at, partial, Cut::part_bytes, ready);
        }
      }
      wait(barriers.part_written(part), parity, Waiting::part_written);
      parity ^= 1;
      if (is_last) {
        for (int panel = 0; panel < Cut::panels; ++panel)
          store_box(a.d_query, panel * box_columns, tiles.head, tile * Cut::queries, work.sample,
                    at + panel * (Cut::part_bytes / Cut::panels));
        commit_stores();
        wait_for_stores();
      } else {
        if (turn == 0)
          store_bytes(partial, at, Cut::part_bytes);
        else
          add_bytes(partial, at, Cut::part_bytes);
        commit_stores();
        finish_stores();
        order_copies();
        give_turn(counter, turn + 1);
      }
    }
  }
}

/// Hands a query gradient, 64 queries by 64 columns, to the warp that sends it. Of all columns they
/// are panel `panel`; `Transposed` means that the columns are the rows of `sums`. A warp group,
/// which uses the named barrier `sync`.
template <int Head, bool Transposed>
__device__ __forceinline__ void hand_over(const SendingArguments& a, std::uint32_t shared,
                                          SendingBarriers<Head> barriers,
                                          Ring<SendingCut<Head>::parts>& part, float (&sums)[32],
                                          const SendingWork& work, int tile, int panel, int sync) {
  using Cut = SendingCut<Head>;
  const int turn = work.turn(a, tile);
  const bool is_last = turn == work.last_turn(a, tile);
  const int thread = threadIdx.x % 128;
  const std::uint32_t at = shared + Cut::part_at + part.stage * Cut::part_bytes +
                           panel * (Cut::part_bytes / Cut::panels),
                      mine = at + thread * 16;
  wait(barriers.part_ready(part.stage), part.parity, Waiting::part_ready);
  if (is_last) {
    if (turn > 0) {
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const float4 four = load_four(mine + n * 128 * 16);
        sums[4 * n] += four.x, sums[4 * n + 1] += four.y, sums[4 * n + 2] += four.z,
            sums[4 * n + 3] += four.w;
      }
      sync_threads(sync, 128);
    }
    std::uint32_t rounded[16];
#pragma unroll
    for (float& sum : sums) sum *= a.scale;
    as_weights<32>(rounded, sums);
    if constexpr (Transposed)
      write_columns(at, rounded, thread);
    else
      write_rows(at, 0, rounded, thread);
  } else {
#pragma unroll
    for (int n = 0; n < 8; ++n) store_four(mine + n * 128 * 16, sums + 4 * n);
  }
  show_to_async_readers();
  __syncwarp();
  if (thread % 32 == 0) arrive(barriers.part_written(part.stage));
  part.advance();
}

/// The warp group that computes query gradients of heads of 64.
__device__ __forceinline__ void compute_query_gradients(const SendingArguments& a,
                                                        std::uint32_t shared,
                                                        SendingBarriers<64> barriers) {
  using Cut = SendingCut<64>;
  const int lane = threadIdx.x % 32;
  Items<64, 32> items{shared, barriers};
  Ring<Cut::key_buffers> block;
  Ring<Cut::buffers> buffer;
  Ring<Cut::parts> part;
  while (true) {
    const int item = items.next(a.items);
    if (item >= a.items) return;
    const SendingWork work(a, item);
    const int all = work.all_steps(),
              alone = work.first_step<64>(a, 1);  // steps of the first group of keys only
    const std::uint32_t keys = shared + block.stage * 2 * Cut::value_bytes;
    QueryTiles tiles(work);
    wait(barriers.block_copied(block.stage), block.parity, Waiting::block_copied);
    block.advance();
    for (int i = 0; i < all; ++i, buffer.advance(), tiles.advance(work)) {
      float sums[32];
#pragma unroll
      for (float& sum : sums) sum = 0;
      wait(barriers.d_score_written(buffer.stage), buffer.parity, Waiting::d_score_written);
      const auto multiply = [&](auto steps) {
        begin_products();
        columns_by_columns<decltype(steps)::value>(
            sums, keys, shared + Cut::d_score_at + buffer.stage * 2 * box_bytes, true);
        commit_products();
        wait_for_products<0>(sums);
      };
      if (i >= alone)
        multiply(std::integral_constant<int, 8>{});
      else
        multiply(std::integral_constant<int, 4>{});
      if (lane == 0) {
        arrive(barriers.d_score_free(buffer.stage));
        if (i + 1 == all) arrive(barriers.keys_read());
      }
      hand_over<64, true>(a, shared, barriers, part, sums, work, tiles.tile(work), 0, 1);
    }
  }
}

/// What both kinds of groups of 64 keys do in a step, and at the end.
template <int Head>
struct KeyGroup {
  using Cut = SendingCut<Head>;
  const SendingArguments& a;
  std::uint32_t shared;
  SendingBarriers<Head> barriers;
  int group, block, first_key;
  std::uint32_t keys, values;

  __device__ KeyGroup(const SendingArguments& arguments, const SendingWork& work, std::uint32_t at,
                      SendingBarriers<Head> of, int which, int key_buffer)
      : a(arguments),
        shared(at),
        barriers(of),
        group(which),
        block(key_buffer),
        first_key(work.key_tile * Cut::keys + which * Cut::group_keys),
        keys(at + key_buffer * 2 * Cut::value_bytes + which * box_bytes),
        values(keys + Cut::value_bytes) {}
  __device__ __forceinline__ std::uint32_t queries(int stage) const {
    return shared + Cut::query_at + stage * Cut::tile_bytes;
  }
  __device__ __forceinline__ std::uint32_t d_outs(int stage) const {
    return shared + Cut::d_out_at + stage * Cut::tile_bytes;
  }
  __device__ __forceinline__ std::uint32_t statistics(int stage) const {
    return shared + Cut::statistics_at + stage * Cut::statistics_bytes + threadIdx.x % 4 * 8;
  }
  /// Of S^T; a batch of products.
  __device__ __forceinline__ void start_scores(float (&scores)[32], int stage) const {
    begin_products();
    rows_by_rows<Cut::panels, 64>(scores, keys, Cut::panel_bytes, queries(stage), box_bytes);
    commit_products();
  }
  /// Of dP^T, not a batch by itself.
  __device__ __forceinline__ void multiply_d_outs(float (&d_scores)[32], int stage) const {
    rows_by_rows<Cut::panels, 64>(d_scores, values, Cut::panel_bytes, d_outs(stage), box_bytes);
  }
  /// S^T becomes P^T.
  __device__ __forceinline__ void weigh(std::uint32_t (&weights)[16], float (&scores)[32],
                                        int stage, int tile) const {
    const bool hides = a.causal ? tile * Cut::queries < first_key + Cut::group_keys - 1
                                : first_key + Cut::group_keys > a.tokens;
    if (hides) {
      const int lane = threadIdx.x % 32, first_query = tile * Cut::queries + lane % 4 * 2,
                my_key = first_key + threadIdx.x % 128 / 32 * 16 + lane / 4;  // and 8 below
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        const int query = first_query + i / 4 * 8 + i % 2, key = my_key + i / 2 % 2 * 8;
        if (key > (a.causal ? query : a.tokens - 1)) scores[i] = -INFINITY;
      }
    }
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float2 lse = load_pair(statistics(stage) + n * 32);
#pragma unroll
      for (int i = 4 * n; i < 4 * n + 4; ++i)
        scores[i] = power_of_two(fmaf(scores[i], a.scale_log2, i % 2 ? -lse.y : -lse.x));
    }
    as_weights<32>(weights, scores);
  }
  /// dP^T becomes dS^T, also in shared memory for the query gradients; P as rounded for dV, so that
  /// the registers of S^T are free for the next tile's.
  __device__ __forceinline__ void slope(std::uint32_t (&slopes)[16],
                                        const std::uint32_t (&weights)[16], float (&d_scores)[32],
                                        int stage, Ring<Cut::buffers>& buffer) const {
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float2 delta = load_pair(statistics(stage) + Cut::queries * 4 + n * 32);
#pragma unroll
      for (int pair = 2 * n; pair < 2 * n + 2; ++pair) {
        float* const d = d_scores + 2 * pair;
        d[0] = lower_half(weights[pair]) * (d[0] - delta.x);
        d[1] = upper_half(weights[pair]) * (d[1] - delta.y);
      }
    }
    as_weights<32>(slopes, d_scores);
    wait(barriers.d_score_free(buffer.stage), buffer.parity ^ 1, Waiting::d_score_free);
    write_rows(shared + Cut::d_score_at + (2 * buffer.stage + group) * box_bytes, 0, slopes,
               threadIdx.x % 128);
    show_to_async_readers();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(barriers.d_score_written(buffer.stage));
    buffer.advance();
  }
  /// Writes both gradients through the shared memory of this group's keys and values, when these
  /// are no longer read.
  __device__ __forceinline__ void finish(float (&d_key)[Head / 2], float (&d_value)[Head / 2],
                                         int item) {
    const int thread = threadIdx.x % 128;
    std::uint32_t rounded[Head / 4];
#pragma unroll
    for (float& x : d_key) x *= a.scale;
    as_weights<Head / 2>(rounded, d_key);
    write_rows(keys, Cut::panel_bytes, rounded, thread);
    as_weights<Head / 2>(rounded, d_value);
    write_rows(values, Cut::panel_bytes, rounded, thread);
    show_to_async_readers();
    sync_threads(2 + group, 128);
    if (thread > 0) return;
    const SendingWork again(a, Cut::takes_items ? anew(item) : static_cast<int>(block_index()));
    const int key = again.key_tile * Cut::keys + group * Cut::group_keys;
    if (key < a.tokens) {
      for (int panel = 0; panel < Cut::panels; ++panel) {
        store_box(a.d_key, panel * box_columns, again.key_head, key, again.sample,
                  keys + panel * Cut::panel_bytes);
        store_box(a.d_value, panel * box_columns, again.key_head, key, again.sample,
                  values + panel * Cut::panel_bytes);
      }
      commit_stores();
      wait_for_stores();
    }
    arrive(barriers.keys_free(block));
  }
};

/// Places of a group of keys in rings, which go on from item to item. With heads of 128 all rings
/// have two places: the number of steps tells them, in one register.
template <int Head>
struct KeyRings {
  Ring<SendingCut<Head>::stages> stage;
  Ring<SendingCut<Head>::buffers> buffer;
};
template <>
struct KeyRings<128> {
  std::uint32_t steps = 0;
};

/// A warp group with 64 keys of heads of 64.
/// One item.
__device__ __forceinline__ void compute_keys(const SendingArguments& a, int item,
                                             std::uint32_t shared, SendingBarriers<64> barriers,
                                             int group, KeyRings<64>& rings,
                                             std::uint32_t items_before) {
  using Cut = SendingCut<64>;
  const SendingWork work(a, item);
  const Ring<Cut::key_buffers> block = place_of(items_before);
  KeyGroup<64> mine(a, work, shared, barriers, group, block.stage);
  const int lane = threadIdx.x % 32, all = work.all_steps(),
            first_step = work.first_step<64>(a, group);
  Ring<Cut::stages>& ring = rings.stage;
  Ring<Cut::buffers>& buffer = rings.buffer;
  // steps that only the other group takes part in
  for (int step = 0; step < first_step; ++step) {
    if (lane == 0) {
      arrive(barriers.query_free(ring.stage));
      arrive(barriers.d_out_free(ring.stage));
      arrive(barriers.d_score_written(buffer.stage));
    }
    ring.advance(), buffer.advance();
  }
  int tile = work.first_tile + first_step;

  float d_key[32] = {}, d_value[32] = {}, scores[32], d_scores[32];
  std::uint32_t weights[16], slopes[16];
  wait(barriers.block_copied(block.stage), block.parity, Waiting::block_copied);
  // zeros now, not while products are under way
  pin(d_key), pin(d_value);

  const auto start_scores = [&] {
    wait(barriers.query_copied(ring.stage), ring.parity, Waiting::query_copied);
    mine.start_scores(scores, ring.stage);
  };
  const auto weigh = [&] {
    mine.weigh(weights, scores, ring.stage, tile);
    begin_products();
    weights_by_columns<4, 64>(d_value, weights, mine.d_outs(ring.stage), box_bytes, true);
    commit_products();
  };

  start_scores();
  wait(barriers.d_out_copied(ring.stage), ring.parity, Waiting::d_out_copied);
  begin_products();
  mine.multiply_d_outs(d_scores, ring.stage);
  commit_products();
  wait_for_products<1>(scores);
  weigh();
  wait_for_products<1>(d_scores);
  // Between steps only d_value is under way: the compiler runs products one by one if registers
  // that are read next are.
  for (int step = first_step + 1; step < all; ++step) {
    const int stage = ring.stage;
    ring.advance();
    if (++tile == a.query_tiles) tile = work.first_tile;  // of the next head
    start_scores();
    mine.slope(slopes, weights, d_scores, stage, buffer);
    wait(barriers.d_out_copied(ring.stage), ring.parity, Waiting::d_out_copied);
    begin_products();
    weights_by_columns<4, 64>(d_key, slopes, mine.queries(stage), box_bytes, true);
    mine.multiply_d_outs(d_scores, ring.stage);
    commit_products();
    wait_for_products<1>(scores, weights);
    if (lane == 0) arrive(barriers.d_out_free(stage));
    weigh();
    wait_for_products<1>(d_scores, slopes);
    if (lane == 0) arrive(barriers.query_free(stage));
  }
  mine.slope(slopes, weights, d_scores, ring.stage, buffer);
  begin_products();
  weights_by_columns<4, 64>(d_key, slopes, mine.queries(ring.stage), box_bytes, true);
  commit_products();
  wait_for_products<0>(d_key, d_value);
  if (lane == 0) {
    arrive(barriers.query_free(ring.stage));
    arrive(barriers.d_out_free(ring.stage));
  }
  ring.advance();
  wait(barriers.keys_read(), items_before & 1, Waiting::keys_read);
  sync_threads(2 + group, 128);  // values were read by all of this group
  mine.finish(d_key, d_value, item);
}

/// A warp group with 64 keys of heads of 128, which also computes 64 columns of query gradients.
/// One item.
__device__ __forceinline__ void compute_keys(const SendingArguments& a, int item,
                                             std::uint32_t shared, SendingBarriers<128> barriers,
                                             int group, KeyRings<128>& rings,
                                             std::uint32_t items_before) {
  using Cut = SendingCut<128>;
  const SendingWork work(a, item);
  KeyGroup<128> mine(a, work, shared, barriers, group, 0);
  const int lane = threadIdx.x % 32, all = work.all_steps();
  static_assert(Cut::stages == 2 && Cut::buffers == 2 && Cut::parts == 2 && Cut::key_buffers == 1);
  std::uint32_t& now = rings.steps;
  int tile = work.first_tile;

  float d_key[64] = {}, d_value[64] = {}, scores[32], d_scores[32], sums[32];
  std::uint32_t weights[16], slopes[16];
  wait(barriers.block_copied(0), items_before & 1, Waiting::block_copied);
  // zeros now, not while products are under way
  pin(d_key), pin(d_value);

  const auto start_scores = [&] {
    const Ring<2> at = place_of(now);
    wait(barriers.query_copied(at.stage), at.parity, Waiting::query_copied);
    mine.start_scores(scores, at.stage);
  };
  const auto free_queries = [&](std::uint32_t step) {
    if (lane == 0) arrive(barriers.query_free(place_of(step).stage));
  };
  // dQ of the step before, of all 128 keys
  const auto start_query_gradient = [&] {
    const Ring<2> at = place_of(now - 1);
    wait(barriers.d_score_written(at.stage), at.parity, Waiting::d_score_written);
#pragma unroll
    for (float& sum : sums) sum = 0;
    begin_products();
    columns_by_columns<8>(sums, shared + Cut::d_score_at + at.stage * 2 * box_bytes,
                          shared + group * Cut::panel_bytes, true);
    commit_products();
  };
  const auto hand_over_query_gradient = [&](int of_tile) {
    Ring<2> at = place_of(now - 1);
    if (lane == 0) arrive(barriers.d_score_free(at.stage));
    hand_over<128, false>(a, shared, barriers, at, sums, work, of_tile, group, 2 + group);
  };
  const auto multiply_weights = [&] {
    const Ring<2> at = place_of(now);
    wait(barriers.d_out_copied(at.stage), at.parity, Waiting::d_out_copied);
    begin_products();
    weights_by_columns<4, 128>(d_value, weights, mine.d_outs(at.stage), box_bytes, true);
    commit_products();
  };
  // dP^T, then dS^T, then dK += dS^T Q
  const auto finish_step = [&] {
    Ring<2> at = place_of(now);
    const int stage = at.stage;
    begin_products();
    mine.multiply_d_outs(d_scores, stage);
    commit_products();
    wait_for_products<0>(d_scores, weights);
    if (lane == 0) arrive(barriers.d_out_free(stage));
    mine.slope(slopes, weights, d_scores, stage, at);
    begin_products();
    weights_by_columns<4, 128>(d_key, slopes, mine.queries(stage), box_bytes, true);
    commit_products();
    ++now;
  };

  start_scores();
  wait_for_products<0>(scores);
  mine.weigh(weights, scores, place_of(now).stage, tile);
  multiply_weights();
  finish_step();
  // Between steps d_key is under way. Registers do for two products of 64 x 64 at a time, also
  // those whose sums are being read: dP^T waits until dQ was handed over, which dV hides.
  for (int step = 1; step < all; ++step) {
    const int tile_before = tile;
    if (++tile == a.query_tiles) tile = work.first_tile;  // of the next head
    start_scores();
    wait_for_products<1>(slopes);
    free_queries(now - 1);
    start_query_gradient();
    wait_for_products<1>(scores);
    mine.weigh(weights, scores, place_of(now).stage, tile);
    multiply_weights();
    wait_for_products<1>(sums);
    hand_over_query_gradient(tile_before);
    finish_step();
  }
  // one after the other: with both under way the compiler runs all products one by one
  wait_for_products<0>(d_key, d_value, slopes);
  free_queries(now - 1);
  start_query_gradient();
  wait_for_products<0>(sums);
  sync_threads(1, 256);  // keys were read by both groups
  hand_over_query_gradient(tile);
  mine.finish(d_key, d_value, item);
}

template <int Head>
__global__ void __launch_bounds__(SendingCut<Head>::threads, 1)
    sending_backward_kernel(const __grid_constant__ SendingArguments a) {
  using Cut = SendingCut<Head>;
  constexpr int service = Cut::threads / 128 - 1;
  extern __shared__ unsigned char memory[];
  const std::uint32_t shared = (shared_address(memory) + atom_bytes - 1) / atom_bytes * atom_bytes;
  const SendingBarriers<Head> barriers{shared + Cut::barriers_at};
  // the same for all threads of a warp, which the compiler cannot know
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), group = warp / 4;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Cut::key_buffers; ++i) {
      init_barrier(barriers.block_copied(i), 1);
      init_barrier(barriers.keys_free(i), 2);  // a group of keys each
    }
    init_barrier(barriers.keys_read(), 4);  // a warp each
    for (int i = 0; i < 2; ++i) {
      init_barrier(barriers.item_given(i), 1);
      init_barrier(barriers.item_free(i), Cut::parts + (Cut::query_group ? 12 : 8));
    }
    for (int i = 0; i < Cut::stages; ++i) {
      init_barrier(barriers.query_copied(i), 1);
      init_barrier(barriers.d_out_copied(i), 1);
      init_barrier(barriers.query_free(i), 8);
      init_barrier(barriers.d_out_free(i), 8);
    }
    for (int i = 0; i < Cut::buffers; ++i) {
      init_barrier(barriers.d_score_written(i), 8);
      init_barrier(barriers.d_score_free(i), Cut::query_group ? 4 : 8);
    }
    for (int i = 0; i < Cut::parts; ++i) {
      init_barrier(barriers.part_ready(i), 1);
      init_barrier(barriers.part_written(i), Cut::query_group ? 4 : 8);
    }
    publish_barriers();
  }
  __syncthreads();
  if (group == service) {
    give_registers<Cut::service_registers>();
    const int role = warp - 4 * service;
    if (threadIdx.x % 32 == 0) {
      if (role == 0)
        copy_tiles<Head>(a, shared, barriers);
      else if (role <= Cut::parts)
        send_parts<Head>(a, shared, barriers, role - 1);
    }
  } else if (Cut::query_group && group == 2) {
    if constexpr (Cut::query_group) {
      give_registers<Cut::query_registers>();
      compute_query_gradients(a, shared, barriers);
    }
  } else {
    take_registers<Cut::key_registers>();
    KeyRings<Head> rings;
    if constexpr (Cut::takes_items) {
      Items<Head, 32> items{shared, barriers};
      for (int item; (item = items.next(a.items)) < a.items;)
        compute_keys(a, item, shared, barriers, group, rings, items.heard - 1);
    } else {
      compute_keys(a, static_cast<int>(blockIdx.x), shared, barriers, group, rings, 0);
    }
  }
}

}  // namespace trainx::kernels::hopper
