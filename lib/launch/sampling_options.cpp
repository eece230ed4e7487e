#include "launch/sampling_options.hpp"
#include "core/error.hpp"
#include <cmath>

namespace trainx::launch {

void check_sampling(const SamplingOptions& o) {
  const auto require = [](bool holds, const char* sentence) {
    if (!holds) throw UserError(ExitCode::usage, sentence);
  };
  require(std::isfinite(o.temperature) && o.temperature >= 0,
          "generate: --temperature must be 0 (greedy) or more");
  require(o.top_k >= 0, "generate: --top-k must be 0 (all tokens) or more");
  require(o.top_p > 0 && o.top_p <= 1,
          "generate: --top-p must be more than 0 and at most 1 (all tokens)");
}

}  // namespace trainx::launch
