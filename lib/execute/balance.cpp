#include "execute/balance.hpp"
#include <numeric>

namespace trainx::execute {

void balance_group(const program::GroupSpec& group, double rate, std::int64_t experts,
                   const double* loads, float* parameters) {
  for (const program::ParameterSpec& p : group.parameters) {
    if (p.expert_layer == program::none) continue;
    const double* const of = loads + p.expert_layer * (experts + 1);
    const double mean = std::accumulate(of, of + experts, 0.0) / static_cast<double>(experts);
    for (std::int64_t i = 0; i < p.elements(); ++i) {
      const double missing = mean - of[p.first + i];
      if (missing != 0) parameters[p.offset + i] += static_cast<float>(missing > 0 ? rate : -rate);
    }
  }
}

}  // namespace trainx::execute
