#include "train/expert_load.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainx::train {

std::optional<metrics::ExpertLoad> expert_load(const std::vector<double>& loads,
                                               std::int64_t experts) {
  if (loads.empty()) return std::nullopt;
  metrics::ExpertLoad out;
  for (auto row = loads.begin(); row != loads.end(); row += experts + 1) {
    const auto end = row + experts;
    out.dropped += *end;
    const double all = std::accumulate(row, end, 0.0);
    if (!(all > 0)) continue;
    double entropy = 0;
    for (auto load = row; load != end; ++load)
      if (*load > 0) entropy -= *load / all * std::log(*load / all);
    out.largest =
        std::max(out.largest, *std::max_element(row, end) * static_cast<double>(experts) / all);
    if (experts > 1)
      out.entropy = std::min(out.entropy, entropy / std::log(static_cast<double>(experts)));
  }
  return out;
}

}  // namespace trainx::train
