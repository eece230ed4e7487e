// Attention backward on Hopper, heads of 64. A block has 128 keys and values of a head and goes
// over the tiles of 64 queries that see them (Dao 2023, arXiv:2307.08691, algorithm 2). Its warp
// groups:
//   0, 1  64 keys each: scores and their gradients with keys as rows, S^T = K Q^T and
//         dP^T = V dO^T, so that P^T and dS^T are left operands of dV += P^T dO and dK += dS^T Q
//         as they lie in registers
//   2     query gradients, dQ^T += K^T dS^T, both from shared memory; one of its warps also issues
//         the copies of queries and output gradients, several tiles ahead
// where P = exp(scale S - lse), dS = P (dP - delta), delta = dO . O; dQ and dK are scaled last.
//
// Sums of query gradients over blocks are made in one order: a counter per tile of queries tells
// whose turn it is, from the last keys that see the tile to the first. Blocks start in that order,
// so whoever waits waits for a block that runs; under a causal mask the block before is two tiles
// ahead. The first in turn stores its part, the last one writes the result: nothing is zeroed and
// nothing converted afterwards.
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

struct BackwardArguments {
  CUtensorMap query, key, value, d_out, d_query, d_key, d_value;
  // [B * H, query_tiles, 2, 64]: log2(e) lse, infinite past the last token, and delta
  float* statistics;
  // [B * H, query_tiles, 8, 128, 4]: parts of a query gradient in the pattern of a product's sums
  float4* partial;
  int* turns;  // [B * H, query_tiles]
  int tokens, heads, rows, query_tiles, key_tiles;
  bool causal;
  float scale, scale_log2;  // the latter times log2(e)
};

struct BackwardCut {
  static constexpr int head = 64, queries = 64, group_keys = 64, keys = 128, stages = 4,
                       buffers = 2;  // of score gradients
  static constexpr int threads = 384;
  // of a thread, by role. A kernel of 384 threads starts with 168 each; two groups for keys and one
  // for queries may not have more than that together.
  static constexpr int key_registers = 200, query_registers = 104;
  static_assert(2 * key_registers + query_registers <= 3 * 168);
  static constexpr int statistics_bytes = 2 * queries * 4;
  static constexpr int key_at = 0, value_at = key_at + 2 * box_bytes,
                       query_at = value_at + 2 * box_bytes,
                       d_out_at = query_at + stages * box_bytes,
                       d_score_at = d_out_at + stages * box_bytes,
                       d_query_at = d_score_at + buffers * 2 * box_bytes,
                       statistics_at = d_query_at + box_bytes,
                       barriers_at = statistics_at + stages * statistics_bytes;
  static constexpr int barriers = 2 + 4 * stages + 2 * buffers;
  static constexpr int shared_bytes = barriers_at + 8 * barriers + atom_bytes;  // and alignment
};

struct BackwardBarriers {
  using Cut = BackwardCut;
  std::uint32_t at;
  __device__ std::uint32_t block_copied() const { return at; }
  /// Keys were read for all query gradients.
  __device__ std::uint32_t keys_read() const { return at + 8; }
  __device__ std::uint32_t query_copied(int stage) const { return at + 8 * (2 + stage); }
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
};

/// What a block works on: keys from key_tile * 128 on, `steps` tiles of queries from first_tile on.
struct BackwardWork {
  int row, sample, head, key_tile, first_tile, steps;
  __device__ explicit BackwardWork(const BackwardArguments& a) {
    const unsigned block = block_index();
    row = block / a.key_tiles;
    sample = row / a.heads, head = row % a.heads;
    key_tile = a.key_tiles - 1 - block % a.key_tiles;
    first_tile = a.causal ? 2 * key_tile : 0;
    steps = a.query_tiles - first_tile;
  }
  /// The second group's keys are after all queries of the first tile. It takes part all the same
  /// if there is no other, so that each group has a step.
  __device__ int first_step(const BackwardArguments& a, int group) const {
    return a.causal && group == 1 && steps > 1 ? 1 : 0;
  }
  /// Keys that see a tile last come first.
  __device__ int turn(const BackwardArguments& a, int step) const {
    return (a.causal ? (first_tile + step) / 2 : a.key_tiles - 1) - key_tile;
  }
};

/// Copies of a block, issued by one warp. All of its threads call.
struct BackwardCopies {
  using Cut = BackwardCut;
  const BackwardArguments& a;
  const BackwardWork& work;
  std::uint32_t shared;
  BackwardBarriers barriers;
  int step = 0;  // to be copied next
  Ring<Cut::stages> ring = {};

  __device__ __forceinline__ void start() {
    if (threadIdx.x % 32 == 0) {
      arrive_expecting(barriers.block_copied(), 4 * box_bytes);
      for (int group = 0; group < 2; ++group) {
        const int key = work.key_tile * Cut::keys + group * Cut::group_keys;
        load_box(shared + Cut::key_at + group * box_bytes, a.key, 0, work.head, key, work.sample,
                 barriers.block_copied());
        load_box(shared + Cut::value_at + group * box_bytes, a.value, 0, work.head, key,
                 work.sample, barriers.block_copied());
      }
    }
    for (int i = 0; i + 1 < Cut::stages; ++i) next();
  }
  __device__ __forceinline__ void next() {
    if (step >= work.steps) return;
    const int tile = work.first_tile + step, stage = ring.stage;
    wait(barriers.query_free(stage), ring.parity ^ 1, Waiting::query_free);
    wait(barriers.d_out_free(stage), ring.parity ^ 1, Waiting::d_out_free);
    if (threadIdx.x % 32 == 0) {
      arrive_expecting(barriers.query_copied(stage), box_bytes + Cut::statistics_bytes);
      load_box(shared + Cut::query_at + stage * box_bytes, a.query, 0, work.head,
               tile * Cut::queries, work.sample, barriers.query_copied(stage));
      load_bytes(shared + Cut::statistics_at + stage * Cut::statistics_bytes,
                 a.statistics + (static_cast<std::int64_t>(work.row) * a.query_tiles + tile) * 2 *
                                    Cut::queries,
                 Cut::statistics_bytes, barriers.query_copied(stage));
      arrive_expecting(barriers.d_out_copied(stage), box_bytes);
      load_box(shared + Cut::d_out_at + stage * box_bytes, a.d_out, 0, work.head,
               tile * Cut::queries, work.sample, barriers.d_out_copied(stage));
    }
    __syncwarp();
    ++step;
    ring.advance();
  }
};

/// A warp group with 64 keys.
__device__ __forceinline__ void compute_keys(const BackwardArguments& a, const BackwardWork& work,
                                             std::uint32_t shared, BackwardBarriers barriers,
                                             int group) {
  using Cut = BackwardCut;
  const int thread = threadIdx.x % 128, lane = threadIdx.x % 32,
            first_key = work.key_tile * Cut::keys + group * Cut::group_keys,
            my_key = first_key + thread / 32 * 16 + lane / 4;  // and 8 below
  const std::uint32_t keys = shared + Cut::key_at + group * box_bytes,
                      values = shared + Cut::value_at + group * box_bytes,
                      d_scores_at = shared + Cut::d_score_at + group * box_bytes;
  const auto queries = [&](int stage) { return shared + Cut::query_at + stage * box_bytes; };
  const auto d_outs = [&](int stage) { return shared + Cut::d_out_at + stage * box_bytes; };
  const int first_step = work.first_step(a, group);
  const bool has_padding = !a.causal && first_key + Cut::group_keys > a.tokens;

  Ring<Cut::stages> ring;
  Ring<Cut::buffers> buffer;
  // steps that only the other group takes part in
  for (int step = 0; step < first_step; ++step) {
    if (lane == 0) {
      arrive(barriers.query_free(ring.stage));
      arrive(barriers.d_out_free(ring.stage));
      arrive(barriers.d_score_written(buffer.stage));
    }
    ring.advance(), buffer.advance();
  }

  float d_key[32] = {}, d_value[32] = {}, scores[32], d_scores[32];
  std::uint32_t weights[16], slopes[16];
  wait(barriers.block_copied(), 0, Waiting::block_copied);
  // zeros now, not while products are under way
  pin(d_key), pin(d_value);

  const auto start_scores = [&] {
    wait(barriers.query_copied(ring.stage), ring.parity, Waiting::query_copied);
    begin_products();
    rows_by_rows<1, 64>(scores, keys, 0, queries(ring.stage), 0);
    commit_products();
  };
  const auto statistics = [&](int stage) {
    return shared + Cut::statistics_at + stage * Cut::statistics_bytes + lane % 4 * 8;
  };
  // S^T becomes P^T, and dV += P^T dO is started
  const auto weigh = [&](int step) {
    if (has_padding || (a.causal && step == first_step)) {
      const int first_query = (work.first_tile + step) * Cut::queries + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        const int query = first_query + i / 4 * 8 + i % 2, key = my_key + i / 2 % 2 * 8;
        if (key > (a.causal ? query : a.tokens - 1)) scores[i] = -INFINITY;
      }
    }
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float2 lse = load_pair(statistics(ring.stage) + n * 32);
#pragma unroll
      for (int i = 4 * n; i < 4 * n + 4; ++i)
        scores[i] = power_of_two(fmaf(scores[i], a.scale_log2, i % 2 ? -lse.y : -lse.x));
    }
    as_weights<32>(weights, scores);
    begin_products();
    weights_by_columns<4, 64>(d_value, weights, d_outs(ring.stage), box_bytes, true);
    commit_products();
  };
  // dP^T becomes dS^T, also in shared memory for the query gradients; P as rounded for dV, so that
  // the registers of S^T are free for the next tile's
  const auto slope = [&](int stage) {
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
    write_rows(d_scores_at + buffer.stage * 2 * box_bytes, 0, slopes, thread);
    show_to_async_readers();
    __syncwarp();
    if (lane == 0) arrive(barriers.d_score_written(buffer.stage));
    buffer.advance();
  };

  start_scores();
  wait(barriers.d_out_copied(ring.stage), ring.parity, Waiting::d_out_copied);
  begin_products();
  rows_by_rows<1, 64>(d_scores, values, 0, d_outs(ring.stage), 0);
  commit_products();
  wait_for_products<1>(scores);
  weigh(first_step);
  wait_for_products<1>(d_scores);
  // Between steps only d_value is under way: the compiler runs products one by one if registers
  // that are read next are.
  for (int step = first_step + 1; step < work.steps; ++step) {
    const int stage = ring.stage;
    ring.advance();
    start_scores();
    slope(stage);
    wait(barriers.d_out_copied(ring.stage), ring.parity, Waiting::d_out_copied);
    begin_products();
    weights_by_columns<4, 64>(d_key, slopes, queries(stage), box_bytes, true);
    rows_by_rows<1, 64>(d_scores, values, 0, d_outs(ring.stage), 0);
    commit_products();
    wait_for_products<1>(scores, weights);
    if (lane == 0) arrive(barriers.d_out_free(stage));
    weigh(step);
    wait_for_products<1>(d_scores, slopes);
    if (lane == 0) arrive(barriers.query_free(stage));
  }
  slope(ring.stage);
  begin_products();
  weights_by_columns<4, 64>(d_key, slopes, queries(ring.stage), box_bytes, true);
  commit_products();
  wait_for_products<0>(d_key, d_value);

  // through the shared memory of this group's keys and values
  wait(barriers.keys_read(), 0, Waiting::keys_read);
  sync_threads(2 + group, 128);
#pragma unroll
  for (float& x : d_key) x *= a.scale;
  as_weights<32>(slopes, d_key);
  as_weights<32>(weights, d_value);
  write_rows(keys, 0, slopes, thread);
  write_rows(values, 0, weights, thread);
  show_to_async_readers();
  sync_threads(2 + group, 128);
  const BackwardWork again(a);
  const int key = again.key_tile * Cut::keys + group * Cut::group_keys;
  if (thread == 0 && key < a.tokens) {
    store_box(a.d_key, 0, again.head, key, again.sample, keys);
    store_box(a.d_value, 0, again.head, key, again.sample, values);
    commit_stores();
    wait_for_stores();
  }
}

/// The warp group that sums query gradients.
__device__ __forceinline__ void compute_queries(const BackwardArguments& a,
                                                const BackwardWork& work, std::uint32_t shared,
                                                BackwardBarriers barriers, int warp) {
  using Cut = BackwardCut;
  const int thread = threadIdx.x % 128, lane = threadIdx.x % 32;
  const std::uint32_t box = shared + Cut::d_query_at;
  const bool copies_tiles = warp == 8;
  BackwardCopies copies{a, work, shared, barriers};
  if (copies_tiles) copies.start();
  wait(barriers.block_copied(), 0, Waiting::block_copied);
  Ring<Cut::buffers> buffer;
  for (int step = 0; step < work.steps; ++step, buffer.advance()) {
    const std::int64_t tile = static_cast<std::int64_t>(work.row) * a.query_tiles +
                              work.first_tile + step;
    float4* const partial = a.partial + tile * 8 * 128 + thread;
    const int turn = work.turn(a, step);
    const bool is_first = turn == 0, is_last = work.key_tile == 0;
    float sums[32];
#pragma unroll
    for (float& sum : sums) sum = 0;
    // before the wait for score gradients, which hides it
    if (!is_first) {
      if (lane == 0) wait_for_turn(a.turns + tile, turn);
      __syncwarp();
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const float4 four = __ldcg(partial + n * 128);
        sums[4 * n] = four.x, sums[4 * n + 1] = four.y, sums[4 * n + 2] = four.z,
                 sums[4 * n + 3] = four.w;
      }
    }
    wait(barriers.d_score_written(buffer.stage), buffer.parity, Waiting::d_score_written);
    // a tile that both groups of keys left before they came to this step is free
    if (copies_tiles) copies.next();
    const auto multiply = [&](auto steps) {
      begin_products();
      columns_by_columns<decltype(steps)::value>(
          sums, shared + Cut::key_at, shared + Cut::d_score_at + buffer.stage * 2 * box_bytes,
          true);
      commit_products();
      wait_for_products<0>(sums);
    };
    if (step >= work.first_step(a, 1))
      multiply(std::integral_constant<int, 8>{});
    else
      multiply(std::integral_constant<int, 4>{});
    if (lane == 0) {
      arrive(barriers.d_score_free(buffer.stage));
      if (step + 1 == work.steps) arrive(barriers.keys_read());
    }

    if (is_last) {
      if (thread == 0) wait_for_stores();
      sync_threads(1, 128);
#pragma unroll
      for (float& sum : sums) sum *= a.scale;
      std::uint32_t rounded[16];
      as_weights<32>(rounded, sums);
      write_columns(box, rounded, thread);
      show_to_async_readers();
      sync_threads(1, 128);
      if (thread == 0) {
        store_box(a.d_query, 0, work.head, (work.first_tile + step) * Cut::queries, work.sample,
                  box);
        commit_stores();
      }
    } else {
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        __stcg(partial + n * 128,
               make_float4(sums[4 * n], sums[4 * n + 1], sums[4 * n + 2], sums[4 * n + 3]));
      }
      sync_threads(1, 128);
      if (thread == 0) give_turn(a.turns + tile, turn + 1);
    }
  }
  if (thread == 0) wait_for_stores();
}

__global__ void __launch_bounds__(BackwardCut::threads, 1)
    backward_kernel(const __grid_constant__ BackwardArguments a) {
  using Cut = BackwardCut;
  extern __shared__ unsigned char memory[];
  const std::uint32_t shared = (shared_address(memory) + atom_bytes - 1) / atom_bytes * atom_bytes;
  const BackwardBarriers barriers{shared + Cut::barriers_at};
  // the same for all threads of a warp, which the compiler cannot know
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), group = warp / 4;
  if (threadIdx.x == 0) {
    init_barrier(barriers.block_copied(), 1);
    init_barrier(barriers.keys_read(), 4);  // a warp each
    for (int i = 0; i < Cut::stages; ++i) {
      init_barrier(barriers.query_copied(i), 1);
      init_barrier(barriers.d_out_copied(i), 1);
      init_barrier(barriers.query_free(i), 8);
      init_barrier(barriers.d_out_free(i), 8);
    }
    for (int i = 0; i < Cut::buffers; ++i) {
      init_barrier(barriers.d_score_written(i), 8);
      init_barrier(barriers.d_score_free(i), 4);
    }
    publish_barriers();
  }
  const BackwardWork work(a);
  __syncthreads();
  if (group == 2) {
    give_registers<Cut::query_registers>();
    compute_queries(a, work, shared, barriers, warp);
  } else {
    take_registers<Cut::key_registers>();
    compute_keys(a, work, shared, barriers, group);
  }
}

}  // namespace trainx::kernels::hopper
