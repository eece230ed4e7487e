#include "graph/expert_sharing.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::graph {

std::int64_t ExpertSharing::choices(std::int64_t tokens, std::int64_t per_token,
                                    std::int64_t experts) const {
  const std::int64_t most = tokens * std::min(per_token, experts / ranks);
  if (capacity <= 0) return most;
  const double even = static_cast<double>(tokens * per_token) / static_cast<double>(ranks);
  return std::min(most,
                  std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(capacity * even))));
}

std::int64_t ExpertSharing::room(std::int64_t tokens, std::int64_t per_token,
                                 std::int64_t experts) const {
  const std::int64_t most = choices(tokens, per_token, experts);
  return most < tokens * per_token ? most : 0;
}

std::int64_t ExpertSharing::rows(std::int64_t tokens, std::int64_t per_token,
                                 std::int64_t experts) const {
  return std::min(tokens, choices(tokens, per_token, experts));
}

}  // namespace trainx::graph
