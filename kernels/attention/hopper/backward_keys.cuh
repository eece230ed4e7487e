// The warp groups of backward.cuh that have keys: gradients of keys and values, and what query
// gradients are made of.
#pragma once
#include <cmath>
#include <cstdint>
#include "kernels/attention/hopper/backward_copies.cuh"
#include "kernels/attention/kept_scores.cuh"

namespace trainx::kernels::hopper {

/// Sums over the 16 rows of each warp of D[64, 64], `d` as products leave it (products.cuh): of a
/// thread those of column first_summed_column() and one more. Each exchange halves the columns that
/// a thread has.
__device__ __forceinline__ int first_summed_column() {
  const int lane = threadIdx.x % 32;
  return 32 * (lane >> 4) + 16 * (lane >> 3 & 1) + 8 * (lane >> 2 & 1) + 2 * (lane % 4);
}
__device__ __forceinline__ float2 add_rows(const float (&d)[32]) {
  float2 left[8];
#pragma unroll
  for (int n = 0; n < 8; ++n)
    left[n] = make_float2(d[4 * n] + d[4 * n + 2], d[4 * n + 1] + d[4 * n + 3]);
#pragma unroll
  for (int step = 0; step < 3; ++step) {
    const int other = 16 >> step, half = 4 >> step;
    const bool upper = (threadIdx.x & other) != 0;
#pragma unroll
    for (int n = 0; n < half; ++n) {
      const float2 mine = upper ? left[n + half] : left[n],
                   given = upper ? left[n] : left[n + half];
      left[n].x = mine.x + __shfl_xor_sync(0xffffffff, given.x, other);
      left[n].y = mine.y + __shfl_xor_sync(0xffffffff, given.y, other);
    }
  }
  return left[0];
}

/// What both kinds of groups of 64 keys do in a step, and at the end.
template <int Head, Seen Sees, bool Drops>
struct KeyGroup : RowLength<Sees> {
  using Cut = BackwardCut<Head>;
  const BackwardArguments& a;
  std::uint32_t shared;
  BackwardBarriers<Head> barriers;
  int group, block, first_key;
  std::uint32_t keys, values;
  std::uint64_t position = 0;  // of the sample in the stream; where probabilities are dropped
  std::uint32_t kept = 0;      // a bit for each of this thread's (draw())

  __device__ KeyGroup(const BackwardArguments& arguments, const BackwardWork<Sees>& work,
                      std::uint32_t at, BackwardBarriers<Head> of, int which, int key_buffer)
      : RowLength<Sees>(work),
        a(arguments),
        shared(at),
        barriers(of),
        group(which),
        block(key_buffer),
        first_key(work.key_tile * Cut::keys + which * Cut::group_keys),
        keys(at + key_buffer * 2 * Cut::value_bytes + which * box_bytes),
        values(keys + Cut::value_bytes) {
    if constexpr (Drops)
      position = static_cast<std::uint64_t>(__ldg(a.dropout.positions + work.sample));
  }
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
  __device__ __forceinline__ bool is_causal() const { return Sees != Seen::lengths && a.causal; }
  /// Of the sample, without padding.
  __device__ __forceinline__ int tokens() const {
    if constexpr (Sees == Seen::lengths)
      return this->length;
    else
      return a.tokens;
  }
  /// Which elements of the next P^T dropout keeps.
  __device__ __forceinline__ void draw([[maybe_unused]] int stage) {
    if constexpr (Drops) {
      const std::uint32_t keys_at = shared + Cut::statistics_at + stage * Cut::statistics_bytes +
                                    draw_number * Cut::queries * 4;
      kept = kept_of_keys<4>(a.dropout, first_key + threadIdx.x % 128 / 32 * 16, [&](int query) {
        const auto low = static_cast<std::uint32_t>(load_int(keys_at + 4 * query)),
                   high =
                       static_cast<std::uint32_t>(load_int(keys_at + (Cut::queries + query) * 4));
        return DroppedQuery{std::uint64_t{high} << 32 | low, position};
      });
    }
  }
  /// S^T becomes P^T.
  __device__ __forceinline__ void weigh(std::uint32_t (&weights)[16], float (&scores)[32],
                                        int stage, int tile) const {
    const bool hides = is_causal() ? tile * Cut::queries < first_key + Cut::group_keys - 1
                                   : first_key + Cut::group_keys > tokens();
    if (hides) {
      const int lane = threadIdx.x % 32, first_query = tile * Cut::queries + lane % 4 * 2,
                my_key = first_key + threadIdx.x % 128 / 32 * 16 + lane / 4;  // and 8 below
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        const int query = first_query + i / 4 * 8 + i % 2, key = my_key + i / 2 % 2 * 8;
        if (key > (is_causal() ? query : tokens() - 1)) scores[i] = -INFINITY;
      }
    }
    if constexpr (Sees == Seen::spans) {
      // the last query's first key is the last one
      const int latest = load_int(shared + Cut::statistics_at + stage * Cut::statistics_bytes +
                                  ((first_key_number + 1) * Cut::queries - 1) * 4);
      if (latest > first_key) {
        const int lane = threadIdx.x % 32,
                  my_key = first_key + threadIdx.x % 128 / 32 * 16 + lane / 4;  // and 8 below
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const float2 pair =
              load_pair(statistics(stage) + first_key_number * Cut::queries * 4 + n * 32);
#pragma unroll
          for (int i = 4 * n; i < 4 * n + 4; ++i)
            if (my_key + i / 2 % 2 * 8 < __float_as_int(i % 2 ? pair.y : pair.x))
              scores[i] = -INFINITY;
        }
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
  /// P^T, in fp32, without what draw() dropped.
  __device__ __forceinline__ void drop(std::uint32_t (&weights)[16], float (&scores)[32]) const {
#pragma unroll
    for (int i = 0; i < 32; ++i)
      if (!is_kept(kept, i)) scores[i] = 0;
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
        if constexpr (Drops) {
          d[0] = is_kept(kept, 2 * pair) ? d[0] * a.dropout.scale : 0;
          d[1] = is_kept(kept, 2 * pair + 1) ? d[1] * a.dropout.scale : 0;
        }
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
  /// Stores the sums over this warp's 16 keys, of heads of 64. `which`: 0: of keys' gradients, 1:
  /// of values'.
  __device__ __forceinline__ void add_up(const float (&gradients)[32], int item, int which) const {
    const BackwardWork<Sees> work(a, anew(item));
    const std::int64_t slab =
        (static_cast<std::int64_t>(work.sample) * a.key_tiles + work.key_tile) * warps_of_keys +
        threadIdx.x / 32;
    *reinterpret_cast<float2*>(a.key_value_sums +
                               ((2 * slab + which) * a.heads + work.key_head) * 64 +
                               first_summed_column()) = add_rows(gradients);
  }
  /// Writes both gradients through the shared memory of this group's keys and values, when these
  /// are no longer read.
  __device__ __forceinline__ void finish(float (&d_key)[Head / 2], float (&d_value)[Head / 2],
                                         int item) {
    const int thread = threadIdx.x % 128;
    std::uint32_t rounded[Head / 4];
#pragma unroll
    for (float& x : d_key) x *= a.scale;
    if constexpr (Drops) {
#pragma unroll
      for (float& x : d_value) x *= a.dropout.scale;
    }
    if constexpr (Head == 64 && Sees == Seen::whole) {  // with heads of 128 registers do not do
      if (a.key_value_sums) add_up(d_key, item, 0), add_up(d_value, item, 1);
    }
    as_weights<Head / 2>(rounded, d_key);
    write_rows(keys, Cut::panel_bytes, rounded, thread);
    as_weights<Head / 2>(rounded, d_value);
    write_rows(values, Cut::panel_bytes, rounded, thread);
    show_to_async_readers();
    sync_threads(2 + group, 128);
    if (thread > 0) return;
    const BackwardWork<Sees> again(a,
                                   Cut::takes_items ? anew(item) : static_cast<int>(block_index()));
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

/// Of two kinds of arrays.
template <bool First, class A, class B>
__device__ __forceinline__ auto& either(A& first, B& second) {
  if constexpr (First)
    return first;
  else
    return second;
}

/// Places of a group of keys in rings, which go on from item to item. With heads of 128 all rings
/// have two places: the number of steps tells them, in one register.
template <int Head>
struct KeyRings {
  Ring<BackwardCut<Head>::stages> stage;
  Ring<BackwardCut<Head>::buffers> buffer;
};
template <>
struct KeyRings<128> {
  std::uint32_t steps = 0;
};

/// A warp group with 64 keys of heads of 64.
/// One item.
template <Seen Sees, bool Drops>
__device__ __forceinline__ void compute_keys(const BackwardArguments& a, int item,
                                             std::uint32_t shared, BackwardBarriers<64> barriers,
                                             int group, KeyRings<64>& rings,
                                             std::uint32_t items_before) {
  using Cut = BackwardCut<64>;
  const BackwardWork<Sees> work(a, item);
  const Ring<Cut::key_buffers> block = place_of(items_before);
  KeyGroup<64, Sees, Drops> mine(a, work, shared, barriers, group, block.stage);
  const int lane = threadIdx.x % 32, all = work.all_steps(),
            first_step = work.template first_step<64>(a, group);
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
  const int end_tile = Sees == Seen::whole ? a.query_tiles : work.first_tile + work.steps;
  int tile = work.first_tile + first_step;

  float d_key[32] = {}, d_value[32] = {}, scores[32], d_scores[32];
  std::uint32_t weights[16], slopes[16], kept_weights[Drops ? 16 : 1];
  // what d_value is a product of: P^T, less what is dropped
  std::uint32_t(&shares)[16] = either<Drops>(kept_weights, weights);
  wait(barriers.block_copied(block.stage), block.parity, Waiting::block_copied);
  // zeros now, not while products are under way
  pin(d_key), pin(d_value);

  const auto start_scores = [&] {
    wait(barriers.query_copied(ring.stage), ring.parity, Waiting::query_copied);
    mine.start_scores(scores, ring.stage);
  };
  const auto weigh = [&] {
    mine.weigh(weights, scores, ring.stage, tile);
    if constexpr (Drops) mine.drop(shares, scores);
    begin_products();
    weights_by_columns<4, 64>(d_value, shares, mine.d_outs(ring.stage), box_bytes, true);
    commit_products();
  };

  start_scores();
  wait(barriers.d_out_copied(ring.stage), ring.parity, Waiting::d_out_copied);
  begin_products();
  mine.multiply_d_outs(d_scores, ring.stage);
  commit_products();
  mine.draw(ring.stage);
  wait_for_products<1>(scores);
  weigh();
  wait_for_products<1>(d_scores);
  // Between steps only d_value is under way: the compiler runs products one by one if registers
  // that are read next are.
  for (int step = first_step + 1; step < all; ++step) {
    const int stage = ring.stage;
    ring.advance();
    if (++tile == end_tile) tile = work.first_tile;  // of the next head
    start_scores();
    mine.slope(slopes, weights, d_scores, stage, buffer);
    wait(barriers.d_out_copied(ring.stage), ring.parity, Waiting::d_out_copied);
    begin_products();
    weights_by_columns<4, 64>(d_key, slopes, mine.queries(stage), box_bytes, true);
    mine.multiply_d_outs(d_scores, ring.stage);
    commit_products();
    mine.draw(ring.stage);
    wait_for_products<1>(scores, shares);
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
template <Seen Sees, bool Drops>
__device__ __forceinline__ void compute_keys(const BackwardArguments& a, int item,
                                             std::uint32_t shared, BackwardBarriers<128> barriers,
                                             int group, KeyRings<128>& rings,
                                             std::uint32_t items_before) {
  using Cut = BackwardCut<128>;
  const BackwardWork<Sees> work(a, item);
  static_assert(!Drops);  // registers do not do
  KeyGroup<128, Sees, false> mine(a, work, shared, barriers, group, 0);
  const int lane = threadIdx.x % 32, all = work.all_steps();
  static_assert(Cut::stages == 2 && Cut::buffers == 2 && Cut::parts == 2 && Cut::key_buffers == 1);
  std::uint32_t& now = rings.steps;
  const int end_tile = Sees == Seen::whole ? a.query_tiles : work.first_tile + work.steps;
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
    if (++tile == end_tile) tile = work.first_tile;  // of the next head
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

}  // namespace trainx::kernels::hopper
