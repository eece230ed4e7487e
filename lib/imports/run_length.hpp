// How long the other tool's run is, and parts of it.
#pragma once
#include "core/units.hpp"
#include <cstdint>

namespace trainx::imports {

Duration of_steps(std::int64_t n);
/// `share` of the whole: whole steps upwards, or epochs.
Duration part_of(const Duration& whole, double share);

/// 0.3, not 0.30000000000000004.
double tidy(double x);

}  // namespace trainx::imports
