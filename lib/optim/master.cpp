#include "optim/weights.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

TRAINX_OPTIM_CLONES void split_master(std::span<const float> exact, std::uint16_t* bf16,
                                      std::uint16_t* low) {
  const SplitWeights weights{bf16, low};
  const float* from = exact.data();
  const auto n = static_cast<std::int64_t>(exact.size());
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) weights.store(i, from[i]);
}

TRAINX_OPTIM_CLONES void join_master(std::span<const std::uint16_t> bf16, const std::uint16_t* low,
                                     float* exact) {
  const std::uint16_t* from = bf16.data();
  const auto n = static_cast<std::int64_t>(bf16.size());
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) exact[i] = joined(from[i], low[i]);
}

}  // namespace trainx::optim
