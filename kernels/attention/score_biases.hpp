// What attention's scores get beside products: biases by how far a key lies from its query, of
// ALiBi (Press et al. 2021, arXiv:2108.12409) or a learned table (T5: Raffel et al. 2019,
// arXiv:1910.10683), and sinks, scores of a head without a key (Xiao et al. 2023,
// arXiv:2309.17453).
#pragma once
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Which bucket of a learned table holds a distance.
struct DistanceBuckets {
  static constexpr int most = 32;  // that kernels take
  int count = 0;                   // of both sides; 0: there is no table
  bool both_sides = false;         // the second half is of keys behind the query
  // the least distance of each bucket of a side, which never falls: of a bucket that no distance
  // reaches that of the next one, INT32_MAX behind the last
  std::int32_t from[most] = {};

  int of_side() const { return both_sides ? count / 2 : count; }
};

/// All on the device; null: absent. What biased_attention.hpp takes, as expand_biases writes it.
struct ScoreBiases {
  // [H, distances], of key - query from `lowest` on
  const float* by_distance = nullptr;
  const std::int32_t* buckets = nullptr;  // [distances]
  std::int64_t lowest = 0, distances = 0;
  const float* sinks = nullptr;  // [H]
  // of backward: sums of the scores' gradients by bucket, bias_gradient_floats of them; null: they
  // are not wanted
  float* d_buckets = nullptr;
};

/// Of H heads over T tokens. The results are written where they are not null: by_distance[H, 2 T -
/// 1] and buckets[2 T - 1] of a table[count, H] or of ALiBi, f32 sinks[H] of those in P (float,
/// Bf16, Fp16).
template <class P>
struct BiasSource {
  DistanceBuckets buckets;
  const P* table = nullptr;  // device
  bool alibi = false;
  const P* sinks = nullptr;  // device
  // of the layer's heads, by whose number ALiBi's slopes go: the first one's, and all; 0: H
  std::int64_t first_head = 0, all_heads = 0;
  std::int64_t table_columns = 0;  // from one row of the table to the next; 0: H
};
template <class P>
cudaError_t expand_biases(const BiasSource<P>& from, std::int64_t tokens, std::int64_t heads,
                          float* by_distance, std::int32_t* buckets, float* sinks,
                          cudaStream_t stream);

std::int64_t bias_gradient_floats(std::int64_t batch, std::int64_t tokens, std::int64_t heads);
/// d_table[count, H], whose rows are `columns` apart, of what backward left in `d_buckets`, in one
/// order; added where `accumulate`.
cudaError_t sum_bias_gradients(const float* d_buckets, std::int64_t batch, std::int64_t tokens,
                               std::int64_t heads, int count, float* d_table, std::int64_t columns,
                               bool accumulate, cudaStream_t stream);
/// d_sinks[H] of what forward left in lse[B, H, T] and backward in delta[B, H, T], in one order;
/// added where `accumulate`.
cudaError_t sum_sink_gradients(const float* sinks, const float* lse, const float* delta,
                               std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                               float* d_sinks, bool accumulate, cudaStream_t stream);

}  // namespace trainx::kernels
