// Which of the keys before it a query sees: those of its document, those in a window, or all. The
// first one never lies before that of an earlier query, so that the tiles of queries which see a
// tile of keys follow each other, and so do the tiles of keys which a tile of queries sees.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels::hopper {

/// Tiles of queries and of keys of backward.
constexpr int tile_queries = 64, tile_keys = 128;

/// Which keys a query sees: all of the row, or under a causal mask all before it; of those before
/// it what Spans tell; all of its sample's tokens, where rows end with padding.
enum class Seen : std::uint8_t { whole, spans, lengths };

struct Spans {
  // [B, T]: where in the row a token's document begins; -1: padding, behind all documents, which
  // sees nothing. Null: one document.
  const std::int32_t* starts;
  int window;  // a query sees itself and window - 1 keys before it; 0: all
  int tokens;

  __host__ __device__ bool is_whole() const { return !starts && window == 0; }
  /// `tokens` of queries that see nothing, and of those past the last token.
  __device__ __forceinline__ int first_key(int sample, int query) const {
    if (query >= tokens) return tokens;
    int first = 0;
    if (starts) first = starts[static_cast<std::int64_t>(sample) * tokens + query];
    if (first < 0) return tokens;
    return window > 0 ? max(first, query - window + 1) : first;
  }
  /// The first tile of keys that a tile of queries goes over: the last one, where it sees nothing.
  __device__ __forceinline__ int first_key_tile(int sample, int query_tile) const {
    const int first = first_key(sample, query_tile * tile_queries);
    return min(first / tile_keys, query_tile * tile_queries / tile_keys);
  }
};

/// Writes first_key_tiles[B, query_tiles], and query_ends[B, key_tiles]: the tile of queries behind
/// those that see a tile of keys. A thread each of whichever are more.
__global__ void __launch_bounds__(256)
    note_spans(Spans spans, int batch, int query_tiles, int key_tiles, int* first_key_tiles,
               int* query_ends) {
  const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x), sample = i / query_tiles,
            tile = i % query_tiles;
  if (sample >= batch) return;
  first_key_tiles[i] = spans.first_key_tile(sample, tile);
  if (tile >= key_tiles) return;
  int end = min(2 * tile + 1, query_tiles), behind = query_tiles;  // the diagonal is seen
  while (end < behind) {
    const int middle = (end + behind) / 2;
    if (spans.first_key_tile(sample, middle) <= tile)
      end = middle + 1;
    else
      behind = middle;
  }
  query_ends[sample * key_tiles + tile] = end;
}

}  // namespace trainx::kernels::hopper
