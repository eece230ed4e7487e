#pragma once
#include <cstdint>

namespace trainx::launch {

/// How a token is chosen of a model's distribution; applied in this order (train/sampling.hpp).
struct SamplingOptions {
  double temperature = 1;  // logits are divided by it; 0: greedy, the likeliest token
  std::int64_t top_k = 0;  // only the k likeliest; 0: all
  // of those the fewest likeliest whose probabilities add up to at least p (Holtzman et al. 2019,
  // arXiv:1904.09751); 1: all
  double top_p = 1;
  friend bool operator==(const SamplingOptions&, const SamplingOptions&) = default;
};

/// Throws UserError 2 with the option of the command line that is out of its range, NaN too.
void check_sampling(const SamplingOptions& options);

}  // namespace trainx::launch
