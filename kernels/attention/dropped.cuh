// A sight whose probabilities are dropped (attention_dropout.hpp).
#pragma once
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/kept_scores.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

template <class Sight>
struct Dropped : Sight {
  static constexpr bool dropped = true;
};

/// Where a sight's streamed keys begin: those of a draw lie in one tile.
template <class Sight>
__device__ __forceinline__ long first_streamed_key(long from) {
  return Sight::dropped ? from / 8 * 8 : from;
}

/// What this thread draws for: of each 16 of the block's rows, at tokens from `first` on, one.
template <int RowTiles>
__device__ __forceinline__ void dropped_queries(DroppedQuery (&queries)[RowTiles],
                                                const tiles::Place<RowTiles>& place, long first,
                                                const AttentionDropout& dropout) {
#pragma unroll
  for (int m = 0; m < RowTiles; ++m)
    queries[m] = dropped_query(dropout, dropout.positions[blockIdx.z], blockIdx.y,
                               first + place.row(2 * m + place.t % 2));
}

constexpr int draws_of_tile = tiles::streamed_rows / 16;

/// The factor of element i of scores[n], of tiles of T.
template <class T, int RowTiles>
__device__ __forceinline__ float factor_of(std::uint32_t kept, const tiles::Place<RowTiles>& place,
                                           int n, int i, const AttentionDropout& dropout) {
  const int column = tiles::streamed_row<T>(place, 0, i % 2) % 2;
  return is_kept(kept, 4 * n + i / 2 * 2 + column) ? dropout.scale : 0.0f;
}

/// Probabilities of queries are multiplied by their factors. Rows of a tile are queries, columns
/// keys from `first_key` on, a multiple of 8.
template <class T, int RowTiles>
__device__ __forceinline__ void drop(tiles::Scores<RowTiles>& weights,
                                     const DroppedQuery (&queries)[RowTiles],
                                     const tiles::Place<RowTiles>& place, long first_key,
                                     const AttentionDropout& dropout) {
#pragma unroll
  for (int m = 0; m < RowTiles; ++m) {
    const std::uint32_t kept = kept_of_queries<draws_of_tile>({dropout, queries[m]}, first_key);
#pragma unroll
    for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) weights[m][n][i] *= factor_of<T>(kept, place, n, i, dropout);
  }
}

/// Which are kept of each 16 rows of a tile whose rows are keys from `first_key` on, a multiple of
/// 8, and whose columns are queries.
template <int RowTiles>
__device__ __forceinline__ void kept_of_tile(std::uint32_t (&kept)[RowTiles],
                                             const tiles::Place<RowTiles>& place, long first_key,
                                             long first_query, long head,
                                             const AttentionDropout& dropout) {
#pragma unroll
  for (int m = 0; m < RowTiles; ++m)
    kept[m] =
        kept_of_keys<draws_of_tile>(dropout, first_key + place.first_row + 16 * m, [&](int column) {
          return dropped_query(dropout, dropout.positions[blockIdx.z], head, first_query + column);
        });
}

}  // namespace trainx::kernels
