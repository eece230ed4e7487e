// Scores under a soft cap (Gemma 2, arXiv:2408.00118): cap * tanh(scale * q.k / cap).
#pragma once
#include "kernels/attention/head_view.cuh"
#include "kernels/attention/tiles.cuh"

namespace trainx::kernels {

/// Products q.k become capped scores.
template <int RowTiles>
__device__ __forceinline__ void cap_scores(tiles::Scores<RowTiles>& scores,
                                           const AttentionShape& s) {
  const float into = s.scale / s.cap;
#pragma unroll
  for (auto& of_rows : scores)
#pragma unroll
    for (auto& of_columns : of_rows)
#pragma unroll
      for (float& x : of_columns) x = s.cap * tanhf(x * into);
}

/// And `slopes` their derivatives by the products.
template <int RowTiles>
__device__ __forceinline__ void cap_scores(tiles::Scores<RowTiles>& scores,
                                           tiles::Scores<RowTiles>& slopes,
                                           const AttentionShape& s) {
  const float into = s.scale / s.cap;
#pragma unroll
  for (int m = 0; m < RowTiles; ++m)
#pragma unroll
    for (int n = 0; n < tiles::streamed_rows / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float u = tanhf(scores[m][n][i] * into);
        scores[m][n][i] = s.cap * u;
        slopes[m][n][i] = (1 - u * u) * s.scale;
      }
}

}  // namespace trainx::kernels
