// A sight whose probabilities are dropped (attention_dropout.hpp).
#pragma once
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

template <class Sight>
struct Dropped : Sight {
  static constexpr bool dropped = true;
};

/// Of the block's rows that are this thread's, at tokens from `first` on.
template <int RowTiles>
__device__ __forceinline__ void dropped_queries(DroppedQuery (&queries)[2 * RowTiles],
                                                const tiles::Place<RowTiles>& place, long first,
                                                const AttentionDropout& dropout) {
#pragma unroll
  for (int half = 0; half < 2 * RowTiles; ++half)
    queries[half] =
        dropped_query(dropout, dropout.positions[blockIdx.z], blockIdx.y, first + place.row(half));
}

/// Probabilities of queries are multiplied by their factors. Rows of a tile are queries, columns
/// keys from `first_key` on.
template <class T, int RowTiles>
__device__ __forceinline__ void drop(tiles::Scores<RowTiles>& weights,
                                     const DroppedQuery (&queries)[2 * RowTiles],
                                     const tiles::Place<RowTiles>& place, long first_key,
                                     const AttentionDropout& dropout) {
#pragma unroll
  for (int half = 0; half < 2 * RowTiles; ++half)
#pragma unroll
    for (int n = 0; n < tiles::streamed_rows / 8; ++n) {
      FourWords words{};
      long quad = -1;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const long key = first_key + tiles::streamed_row<T>(place, n, e);
        if (key / 4 != quad) words = dropped_words(dropout, queries[half], quad = key / 4);
        weights[half / 2][n][2 * (half % 2) + e] *= dropped_factor(dropout, words, key);
      }
    }
}

/// The factors of a tile whose rows are keys from `first_key` on and whose columns are queries.
template <class T, int RowTiles>
__device__ __forceinline__ void dropped_factors(tiles::Scores<RowTiles>& factors,
                                                const tiles::Place<RowTiles>& place, long first_key,
                                                long first_query, long head,
                                                const AttentionDropout& dropout) {
#pragma unroll
  for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const DroppedQuery query = dropped_query(dropout, dropout.positions[blockIdx.z], head,
                                               first_query + tiles::streamed_row<T>(place, n, e));
#pragma unroll
      for (int half = 0; half < 2 * RowTiles; ++half) {
        const long key = first_key + place.row(half);
        factors[half / 2][n][2 * (half % 2) + e] =
            dropped_factor(dropout, dropped_words(dropout, query, key / 4), key);
      }
    }
}

}  // namespace trainx::kernels
