// Attention forward on Hopper. A block has 128 queries of a head, 64 for each of its two warp
// groups (Dao 2023, arXiv:2307.08691, algorithm 1). One warp also issues copies of keys and values
// into rings in shared memory, several tiles ahead: that takes fewer registers than a copying warp,
// of which a multiprocessor's quarter would hold one more. The products of a tile of keys run while
// the weights of the tile before it are multiplied with its values, and while exponentials are
// taken (Shah et al. 2024, arXiv:2407.08608, algorithm 2). Keys are visited from the last that is
// seen to the first, so that the only tile with hidden scores is the first one; where spans are not
// whole, those in which a query's first key lies have some too.
#pragma once
#include <cmath>
#include <cstdint>
#include "kernels/attention/hopper/head_box.cuh"
#include "kernels/attention/hopper/hopper_attention.hpp"
#include "kernels/attention/kept_scores.cuh"
#include "kernels/hopper/products.cuh"
#include "kernels/attention/hopper/spans.cuh"
#include "kernels/hopper/turns.cuh"
#include "kernels/hopper/values.cuh"

namespace trainx::kernels::hopper {

struct ForwardArguments {
  CUtensorMap query, key, value, out;
  float* lse;               // [B * H, T]
  int tokens, heads, rows;  // rows: B * H
  int group_heads;          // query heads of a key head
  int query_tiles;          // of 128 queries
  int rows_together;        // heads whose keys and values share the L2 cache
  bool causal;
  float scale;  // of scores, times log2(e)
  Spans spans;
  const std::int32_t* lengths;  // [B], of Seen::lengths
  const float* sinks;           // [heads]; null: none
  AttentionDropout dropout;     // of kernels that drop
};

/// How the work of a block is cut, by head size. With 64, two blocks fit a multiprocessor, whose
/// four warp groups hide each other's waits; with 128, two warp groups take turns by themselves.
template <int Head>
struct ForwardCut {
  static constexpr int keys = Head == 64 ? 64 : 128, stages = Head == 64 ? 4 : 2,
                       blocks = Head == 64 ? 2 : 1;
  static constexpr bool take_turns = Head == 128;
  static constexpr int groups = 2, group_rows = 64, queries = groups * group_rows,
                       panels = Head / box_columns;
  static constexpr int threads = 128 * groups;
  // tiles on their way or in use when a tile was freed; one less than stages: a group need not wait
  // for the other to free the same tile
  static constexpr int ahead = take_turns ? stages : stages - 1;
  // a tile of keys has `panels` panels of 64 columns, each of keys / 64 boxes
  static constexpr int panel_bytes = keys * box_row_bytes, tile_bytes = panels * panel_bytes,
                       query_bytes = panels * box_bytes;  // of a warp group
  static constexpr int key_at = groups * query_bytes, value_at = key_at + stages * tile_bytes,
                       barriers_at = value_at + stages * tile_bytes, barriers = groups + 4 * stages;
  static constexpr int shared_bytes = barriers_at + 8 * barriers + atom_bytes;  // and alignment
};

/// Running maximum and sum of the two rows of a thread. The maximum is that of the tile that was
/// last taken as a reference: weights may grow to 2^slack before all sums are rescaled.
struct RunningRows {
  static constexpr float slack = 8,
                         lowest = -1e30f;  // of rows that saw nothing yet: weights of nothing are 0
  float top[2] = {lowest, lowest};         // times scale, base 2
  float sum[2] = {0, 0};                   // of this thread's columns
  float rescale[2];
  bool moved;  // by this tile, in this warp: sums so far are to be multiplied with `rescale`

  /// Scores become weights, 2^(score * scale - top).
  template <int Count>
  __device__ __forceinline__ void weigh(float (&scores)[Count], float scale) {
    float largest[2] = {scores[0], scores[2]};
#pragma unroll
    for (int i = 0; i < Count; i += 4)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        largest[half] = fmaxf(largest[half], fmaxf(scores[i + 2 * half], scores[i + 2 * half + 1]));
    moved = __any_sync(0xffffffff,
                       largest[0] * scale > top[0] + slack || largest[1] * scale > top[1] + slack);
    if (moved) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float all = largest[half];
        all = fmaxf(all, __shfl_xor_sync(0xffffffff, all, 1));
        all = fmaxf(all, __shfl_xor_sync(0xffffffff, all, 2));
        const float now = fmaxf(top[half], all * scale);
        rescale[half] = power_of_two(top[half] - now);
        top[half] = now;
        sum[half] *= rescale[half];
      }
    }
    float part[2][2] = {{0, 0}, {0, 0}};
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int half = i / 2 % 2;
      scores[i] = power_of_two(fmaf(scores[i], scale, -top[half]));
      part[half][i % 2] += scores[i];
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) sum[half] += part[half][0] + part[half][1];
  }
  template <int Count>
  __device__ __forceinline__ void rescale_rows(float (&rows)[Count]) const {
    if (!moved) return;
#pragma unroll
    for (int i = 0; i < Count; ++i) rows[i] *= rescale[i / 2 % 2];
  }
};

/// Barriers of a block, by their address in shared memory.
template <class Cut>
struct ForwardBarriers {
  std::uint32_t at;
  __device__ std::uint32_t query(int group) const { return at + 8 * group; }
  __device__ std::uint32_t key_copied(int stage) const { return at + 8 * (Cut::groups + stage); }
  __device__ std::uint32_t value_copied(int stage) const {
    return key_copied(stage) + 8 * Cut::stages;
  }
  __device__ std::uint32_t key_free(int stage) const {
    return key_copied(stage) + 8 * 2 * Cut::stages;
  }
  __device__ std::uint32_t value_free(int stage) const {
    return key_copied(stage) + 8 * 3 * Cut::stages;
  }
};

/// What a block works on. Heads are taken in bunches whose keys and values fit the L2 cache, and in
/// a bunch the tiles with most keys first, so that the last blocks are short.
struct ForwardWork {
  int row, sample, head, key_head, first_query;
  __device__ ForwardWork(const ForwardArguments& a, int queries) {
    const int bunch = blockIdx.x / (a.rows_together * a.query_tiles),
              place = blockIdx.x % (a.rows_together * a.query_tiles),
              rows = min(a.rows_together, a.rows - bunch * a.rows_together);
    row = bunch * a.rows_together + place % rows;
    sample = row / a.heads, head = row % a.heads, key_head = head / a.group_heads;
    first_query = (a.query_tiles - 1 - place / rows) * queries;
  }
  /// Tiles of keys that queries before `end` see, of a row with as many tokens.
  static __device__ int key_tiles(const ForwardArguments& a, int end, int tokens, int keys) {
    return ((a.causal ? min(end, tokens) : tokens) + keys - 1) / keys;
  }
};

/// Copies of a block, issued by one warp of the second warp group, which sees all of the block's
/// tiles and goes behind the first group where they take turns. All of the warp's threads call.
template <int Head>
struct ForwardCopies {
  using Cut = ForwardCut<Head>;
  const ForwardArguments& a;
  const ForwardWork& work;
  std::uint32_t shared;
  ForwardBarriers<Cut> barriers;
  int key_tile, value_tile, first_tile;  // to be copied next, and last
  Ring<Cut::stages> keys = {}, values = {};

  __device__ __forceinline__ void start() {
    if (threadIdx.x % 32 == 0)
      for (int group = 0; group < Cut::groups; ++group) {
        arrive_expecting(barriers.query(group), Cut::query_bytes);
        for (int panel = 0; panel < Cut::panels; ++panel)
          load_box(shared + group * Cut::query_bytes + panel * box_bytes, a.query,
                   panel * box_columns, work.head, work.first_query + group * Cut::group_rows,
                   work.sample, barriers.query(group));
      }
    for (int i = 0; i < Cut::ahead; ++i) next_keys(), next_values();
  }
  __device__ __forceinline__ void next_keys() {
    if (key_tile < first_tile) return;
    wait(barriers.key_free(keys.stage), keys.parity ^ 1, Waiting::key_free);
    copy(a.key, shared + Cut::key_at + keys.stage * Cut::tile_bytes,
         barriers.key_copied(keys.stage), key_tile--);
    keys.advance();
  }
  __device__ __forceinline__ void next_values() {
    if (value_tile < first_tile) return;
    wait(barriers.value_free(values.stage), values.parity ^ 1, Waiting::value_free);
    copy(a.value, shared + Cut::value_at + values.stage * Cut::tile_bytes,
         barriers.value_copied(values.stage), value_tile--);
    values.advance();
  }

 private:
  __device__ __forceinline__ void copy(const CUtensorMap& map, std::uint32_t to,
                                       std::uint32_t copied, int tile) {
    if (threadIdx.x % 32 == 0) {
      arrive_expecting(copied, Cut::tile_bytes);
#pragma unroll
      for (int panel = 0; panel < Cut::panels; ++panel)
#pragma unroll
        for (int box = 0; box < Cut::keys / box_rows; ++box)
          load_box(to + panel * Cut::panel_bytes + box * box_bytes, map, panel * box_columns,
                   work.key_head, tile * Cut::keys + box * box_rows, work.sample, copied);
    }
    __syncwarp();
  }
};

/// A warp group with 64 queries.
template <int Head, Seen Sees, bool Drops>
__device__ __forceinline__ void compute_forward(const ForwardArguments& a, const ForwardWork& work,
                                                std::uint32_t shared,
                                                ForwardBarriers<ForwardCut<Head>> barriers,
                                                int warp) {
  using Cut = ForwardCut<Head>;
  constexpr int score_count = Cut::keys / 2, out_count = Head / 2;
  const int group = warp / 4, thread = threadIdx.x % 128, lane = threadIdx.x % 32,
            first_query = work.first_query + group * Cut::group_rows,
            my_query = first_query + thread / 32 * 16 + lane / 4;  // and 8 below
  const std::uint32_t queries = shared + group * Cut::query_bytes;
  // blocks of padding alone go over one tile, and write zeros
  const int tokens = Sees == Seen::lengths ? __ldg(a.lengths + work.sample) : a.tokens,
            end = Sees == Seen::lengths && work.first_query >= tokens ? 1 : tokens;
  const int tiles = ForwardWork::key_tiles(a, work.first_query + Cut::queries, end, Cut::keys),
            my_tiles = ForwardWork::key_tiles(a, first_query + Cut::group_rows, end, Cut::keys);
  // both groups go down to the tile with the first key of the block's first query, or to that
  // query's own, which gives zeros where nothing is seen
  int first_tile = 0, seen_from[2] = {0, 0};
  if constexpr (Sees == Seen::spans) {
    first_tile = min(a.spans.first_key(work.sample, work.first_query), work.first_query) /
                 Cut::keys;
    for (int half = 0; half < 2; ++half)
      seen_from[half] = a.spans.first_key(work.sample, my_query + 8 * half);
  }
  Ring<Cut::stages> keys, values;
  const bool copies_tiles = warp == 4;
  ForwardCopies<Head> copies{a, work, shared, barriers, tiles - 1, tiles - 1, first_tile};
  if (copies_tiles) copies.start();
  const auto free_keys = [&] {
    if (lane == 0) arrive(barriers.key_free(keys.stage));
    keys.advance();
    if (copies_tiles) copies.next_keys();
  };
  const auto free_values = [&] {
    if (lane == 0) arrive(barriers.value_free(values.stage));
    values.advance();
    if (copies_tiles) copies.next_values();
  };
  // the two warp groups issue products one after the other, by named barriers 3 and 4
  [[maybe_unused]] const auto take_turn = [&] {
    if constexpr (Cut::take_turns) sync_threads(3 + group, 256);
  };
  [[maybe_unused]] const auto pass_turn = [&](bool is_last) {
    if constexpr (Cut::take_turns)
      if (group == 0 || !is_last) arrive_threads(4 - group, 256);
  };
  if constexpr (Cut::take_turns)
    if (group == 1) arrive_threads(3, 256);

  // tiles that only the other group sees
  for (int skipped = my_tiles; skipped < tiles; ++skipped) {
    free_keys();
    free_values();
  }

  float out[out_count] = {}, scores[score_count];
  std::uint32_t weights[score_count / 2];
  RunningRows rows;
  // draws hide behind products; the scale of what is kept joins the factor of a row's result
  Draws draws{};
  if constexpr (Drops) {
    const std::int64_t position = __ldg(a.dropout.positions + work.sample);
    draws = {a.dropout, dropped_query(a.dropout, position, work.head, my_query + 8 * (lane % 2))};
  }
  std::uint32_t kept[score_count / 32];
  const auto draw = [&]([[maybe_unused]] int tile) {
    if constexpr (Drops)
#pragma unroll
      for (int i = 0; i < score_count / 32; ++i)
        kept[i] = kept_of_queries<4>(draws, tile * Cut::keys + 64 * i);
  };
  const auto drop = [&] {
    if constexpr (Drops)
#pragma unroll
      for (int i = 0; i < score_count; ++i)
        if (!is_kept(kept[i / 32], i % 32)) scores[i] = 0;
  };

  wait(barriers.query(group), 0, Waiting::query);
  wait(barriers.key_copied(keys.stage), keys.parity, Waiting::key_copied);
  take_turn();
  begin_products();
  rows_by_rows<Cut::panels, Cut::keys>(scores, queries, box_bytes,
                                       shared + Cut::key_at + keys.stage * Cut::tile_bytes,
                                       Cut::panel_bytes);
  commit_products();
  pass_turn(my_tiles - 1 == first_tile);
  draw(my_tiles - 1);
  wait_for_products<0>(scores);
  free_keys();

  // hides keys after the query and after the last token
  {
    const int first_key = (my_tiles - 1) * Cut::keys + 2 * (lane % 4),
              last = a.causal ? my_query : tokens - 1, step = a.causal ? 8 : 0;
#pragma unroll
    for (int i = 0; i < score_count; ++i)
      if (first_key + i / 4 * 8 + i % 2 > last + i / 2 % 2 * step) scores[i] = -INFINITY;
  }
  // hides keys before the first one that a query sees
  const auto hide_others = [&]([[maybe_unused]] int tile) {
    if constexpr (Sees == Seen::spans) {
      // of the two rows the lower one sees fewer
      if (!__any_sync(0xffffffff, tile * Cut::keys < seen_from[1])) return;
      const int first_key = tile * Cut::keys + 2 * (lane % 4);
#pragma unroll
      for (int i = 0; i < score_count; ++i)
        if (first_key + i / 4 * 8 + i % 2 < seen_from[i / 2 % 2]) scores[i] = -INFINITY;
    }
  };
  hide_others(my_tiles - 1);
  rows.weigh(scores, a.scale);
  drop();
  as_weights<score_count>(weights, scores);

  for (int tile = my_tiles - 2; tile >= first_tile; --tile) {
    wait(barriers.key_copied(keys.stage), keys.parity, Waiting::key_copied);
    take_turn();
    begin_products();
    rows_by_rows<Cut::panels, Cut::keys>(scores, queries, box_bytes,
                                         shared + Cut::key_at + keys.stage * Cut::tile_bytes,
                                         Cut::panel_bytes);
    commit_products();
    wait(barriers.value_copied(values.stage), values.parity, Waiting::value_copied);
    begin_products();
    weights_by_columns<Cut::keys / 16, Head>(
        out, weights, shared + Cut::value_at + values.stage * Cut::tile_bytes, Cut::panel_bytes,
        true);
    commit_products();
    pass_turn(tile == first_tile);
    draw(tile);
    wait_for_products<1>(scores);
    free_keys();
    hide_others(tile);
    rows.weigh(scores, a.scale);
    drop();
    wait_for_products<0>(out, weights);
    free_values();
    rows.rescale_rows(out);
    as_weights<score_count>(weights, scores);
  }

  wait(barriers.value_copied(values.stage), values.parity, Waiting::value_copied);
  begin_products();
  weights_by_columns<Cut::keys / 16, Head>(out, weights,
                                           shared + Cut::value_at + values.stage * Cut::tile_bytes,
                                           Cut::panel_bytes, true);
  commit_products();
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = rows.sum[half];
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    const int query = my_query + 8 * half;
    const bool none = Sees == Seen::whole   ? false
                      : Sees == Seen::spans ? sum == 0
                                            : query >= tokens;
    float top = rows.top[half], share = 1;  // share: of keys, in a sum that a sink joins
    if (a.sinks) {
      const float sink = __ldg(a.sinks + work.head) * 1.44269504088896f, largest = fmaxf(top, sink);
      share = power_of_two(top - largest);
      sum = fmaf(sum, share, power_of_two(sink - largest));
      top = largest;
    }
    factor[half] = none ? 0 : share / sum;
    if constexpr (Drops) factor[half] *= a.dropout.scale;
    if (lane % 4 == 0 && query < a.tokens)
      a.lse[static_cast<std::int64_t>(work.row) * a.tokens + query] =
          none ? 0 : (top + log2f(sum)) * 0.693147180559945f;
  }
  wait_for_products<0>(out);

  // through the shared memory of this group's queries, which are no longer read
  sync_threads(1 + group, 128);
  std::uint32_t rounded[out_count / 2];
#pragma unroll
  for (int i = 0; i < out_count; ++i) out[i] *= factor[i / 2 % 2];
  if constexpr (Sees == Seen::lengths) {
#pragma unroll
    for (int i = 0; i < out_count; ++i)
      if (factor[i / 2 % 2] == 0) out[i] = 0;  // whatever padding held
  }
  as_weights<out_count>(rounded, out);
  write_rows(queries, box_bytes, rounded, thread);
  show_to_async_readers();
  sync_threads(1 + group, 128);
  if (thread == 0 && first_query < a.tokens) {
    for (int panel = 0; panel < Cut::panels; ++panel)
      store_box(a.out, panel * box_columns, work.head, first_query, work.sample,
                queries + panel * box_bytes);
    commit_stores();
    wait_for_stores();
  }
}

template <int Head, Seen Sees, bool Drops>
__global__ void __launch_bounds__(ForwardCut<Head>::threads, ForwardCut<Head>::blocks)
    forward_kernel(const __grid_constant__ ForwardArguments a) {
  using Cut = ForwardCut<Head>;
  extern __shared__ unsigned char memory[];
  const std::uint32_t shared = (shared_address(memory) + atom_bytes - 1) / atom_bytes * atom_bytes;
  const ForwardBarriers<Cut> barriers{shared + Cut::barriers_at};
  // the same for all threads of a warp, which the compiler cannot know
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Cut::groups; ++i) init_barrier(barriers.query(i), 1);
    for (int i = 0; i < Cut::stages; ++i) {
      init_barrier(barriers.key_copied(i), 1);
      init_barrier(barriers.value_copied(i), 1);
      init_barrier(barriers.key_free(i), 4 * Cut::groups);  // a warp each
      init_barrier(barriers.value_free(i), 4 * Cut::groups);
    }
    publish_barriers();
  }
  const ForwardWork work(a, Cut::queries);
  __syncthreads();
  compute_forward<Head, Sees, Drops>(a, work, shared, barriers, warp);
}

}  // namespace trainx::kernels::hopper
