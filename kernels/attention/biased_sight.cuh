// Which sight a biased problem has: what both directions ask.
#pragma once
#include "kernels/attention/biased.cuh"
#include "kernels/attention/dropped.cuh"
#include "kernels/attention/grouped.cuh"
#include "kernels/attention/nearby.cuh"

namespace trainx::kernels {

inline bool is_biased_launchable(const AttentionSize& s) {
  const ScoreBiases& b = s.biases;
  const bool whole = !b.by_distance ||
                     (b.lowest == 1 - s.tokens && b.distances == 2 * s.tokens - 1);
  return is_grouped_launchable(s) && s.soft_cap == 0 && whole &&
         (!b.d_buckets || (b.buckets && s.head_size <= 128));
}

/// Calls launch(a Biased, with or without dropout).
template <class Launch>
cudaError_t with_biased_sight(const std::int32_t* seen, std::int32_t* ends,
                              const AttentionSize& size, Launch launch) {
  const auto of = [&](auto sight) {
    using Sight = Biased<decltype(sight)>;
    return size.dropout ? launch(Dropped<Sight>{Sight{sight}}) : launch(Sight{sight});
  };
  const long window = size.window > 0 ? size.window : size.tokens;
  return size.causal ? of(Grouped<false>{{seen, ends}, window}) : of(nearby(seen, size));
}

}  // namespace trainx::kernels
