// What comes into and goes out of the shared memory of backward.cuh: keys, tiles of queries, and
// parts of query gradients, which are summed in turn.
#pragma once
#include <cstdint>
#include "kernels/attention/hopper/backward_work.cuh"
#include "kernels/hopper/products.cuh"

namespace trainx::kernels::hopper {

/// Takes items until there is none left, and copies their keys, values, and all tiles of queries
/// and output gradients. One thread.
template <int Head, Seen Sees, bool Drops>
__device__ __forceinline__ void copy_tiles(const BackwardArguments& a, std::uint32_t shared,
                                           BackwardBarriers<Head> barriers) {
  using Cut = BackwardCut<Head>;
  constexpr int numbers = query_numbers(Drops),
                statistics_bytes = (Drops                 ? numbers
                                    : Sees == Seen::spans ? first_key_number + 1
                                                          : first_key_number) *
                                   Cut::queries * 4;
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
    const BackwardWork<Sees> work(a, item);
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
      arrive_expecting(barriers.query_copied(stage), Cut::tile_bytes + statistics_bytes);
      for (int panel = 0; panel < Cut::panels; ++panel)
        load_box(shared + Cut::query_at + stage * Cut::tile_bytes + panel * box_bytes, a.query,
                 panel * box_columns, tiles.head, tile * Cut::queries, work.sample,
                 barriers.query_copied(stage));
      const std::int64_t row = static_cast<std::int64_t>(work.sample) * a.heads + tiles.head;
      load_bytes(shared + Cut::statistics_at + stage * Cut::statistics_bytes,
                 a.statistics + (row * a.query_tiles + tile) * numbers * Cut::queries,
                 statistics_bytes, barriers.query_copied(stage));
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
template <int Head, Seen Sees>
__device__ __forceinline__ void send_parts(const BackwardArguments& a, std::uint32_t shared,
                                           BackwardBarriers<Head> barriers, int part) {
  using Cut = BackwardCut<Head>;
  const std::uint32_t at = shared + Cut::part_at + part * Cut::part_bytes,
                      ready = barriers.part_ready(part);
  Items<Head, 1> items{shared, barriers};
  std::uint32_t parity = 0;
  int buffer = 0;  // of the next part
  while (true) {
    const int item = items.next(a.items);
    if (item >= a.items) return;
    const BackwardWork<Sees> work(a, item);
    QueryTiles tiles(work);
    for (int left = work.all_steps(); left > 0; --left, tiles.advance(work)) {
      const bool is_mine = buffer == part;
      if (++buffer == Cut::parts) buffer = 0;
      if (!is_mine) continue;
      const int tile = tiles.tile(work);
      const Turn turns = work.turn(a, tile);
      const int turn = turns.mine;
      const bool is_last = turns.is_last();
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

/// Stores the sums over the 64 queries of a tile, of heads of 64: `sums` are transposed.
template <Seen Sees>
__device__ __forceinline__ void add_up_queries(const BackwardArguments& a, const float (&sums)[32],
                                               const BackwardWork<Sees>& work, int tile) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  float two[2] = {};  // of column lane / 4 of the warp's 16, and 8 behind
#pragma unroll
  for (int i = 0; i < 32; ++i) two[i / 2 % 2] += sums[i];
#pragma unroll
  for (float& sum : two) {
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
  }
  if (lane % 4 != 0) return;
  const std::int64_t slab = static_cast<std::int64_t>(work.sample) * a.query_tiles + tile;
  float* const to = a.query_sums + (slab * a.heads + work.key_head) * 64 + 16 * warp + lane / 4;
  to[0] = two[0];
  to[8] = two[1];
}

/// Hands a query gradient, 64 queries by 64 columns, to the warp that sends it. Of all columns they
/// are panel `panel`; `Transposed` means that the columns are the rows of `sums`. A warp group,
/// which uses the named barrier `sync`.
template <int Head, bool Transposed, Seen Sees>
__device__ __forceinline__ void hand_over(const BackwardArguments& a, std::uint32_t shared,
                                          BackwardBarriers<Head> barriers,
                                          Ring<BackwardCut<Head>::parts>& part, float (&sums)[32],
                                          const BackwardWork<Sees>& work, int tile, int panel,
                                          int sync) {
  using Cut = BackwardCut<Head>;
  const Turn turn = work.turn(a, tile);
  const int thread = threadIdx.x % 128;
  const std::uint32_t at = shared + Cut::part_at + part.stage * Cut::part_bytes +
                           panel * (Cut::part_bytes / Cut::panels),
                      mine = at + thread * 16;
  wait(barriers.part_ready(part.stage), part.parity, Waiting::part_ready);
  if (turn.is_last()) {
    if (turn.mine > 0) {
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
    if constexpr (Head == 64 && Sees == Seen::whole)
      if (a.query_sums) add_up_queries(a, sums, work, tile);
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

}  // namespace trainx::kernels::hopper
