// What backward.cuh is told, and how it divides registers and shared memory.
#pragma once
#include <cstdint>
#include "kernels/attention/attention_dropout.hpp"
#include "kernels/attention/hopper/head_box.cuh"
#include "kernels/attention/hopper/hopper_attention.hpp"
#include "kernels/attention/hopper/row_statistics.cuh"

namespace trainx::kernels::hopper {

struct BackwardArguments {
  CUtensorMap query, key, value, d_out, d_query, d_key, d_value;
  float* statistics;  // of row_statistics()
  // [B * H, query_tiles, 64 * Head]: sums so far of a query gradient, as they lie in shared memory
  float* partial;
  int* turns;      // [B * H, query_tiles]
  int* next_item;  // that no block has taken; at first 0
  int tokens, heads, key_heads, query_tiles, key_tiles;
  int items;      // B * K * key_tiles
  int last_rows;  // of B * K: keys that most queries see come first
  Spans spans;
  // of note_spans(), where queries do not see all keys before them; else null
  const int *first_key_tiles, *query_ends;
  bool causal;
  float scale, scale_log2;             // the latter times log2(e)
  float *query_sums, *key_value_sums;  // of Backward
  const std::int32_t* lengths;         // [B], of Seen::lengths
  AttentionDropout dropout;            // of kernels that drop
};

/// Warps that have 16 keys each of a tile.
constexpr int warps_of_keys = tile_keys / 16;

/// Of a thread, by role; all threads start with equal numbers of a multiprocessor's 65536.
struct Registers {
  int keys, queries, service;
  constexpr bool fit() const { return (2 * keys + queries + service) * 128 <= 65536; }
};

template <int Head>
struct BackwardCut {
  static constexpr int queries = tile_queries, group_keys = 64, keys = tile_keys,
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
  static constexpr Registers registers = query_group ? Registers{200, 80, 32}
                                                     : Registers{240, 0, 24},
                             // to drop takes some more
      registers_to_drop{208, 72, 24};
  static_assert(registers.fit() && registers_to_drop.fit());
  static constexpr int tile_bytes = panels * box_bytes,
                       // with heads of 128 there is no room for draws
      statistics_bytes = query_numbers(Head == 64) * queries * 4, part_bytes = queries * Head * 4,
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
struct BackwardBarriers {
  using Cut = BackwardCut<Head>;
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

}  // namespace trainx::kernels::hopper
