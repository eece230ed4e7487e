#pragma once
#include "metrics/report.hpp"
#include <cstdint>
#include <optional>
#include <vector>

namespace trainx::train {

/// Of loads [layers, experts + 1] (program::expert_loads); nothing where there are none.
std::optional<metrics::ExpertLoad> expert_load(const std::vector<double>& loads,
                                               std::int64_t experts);

}  // namespace trainx::train
