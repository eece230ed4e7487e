// Rates of GPUs that were not measured.
#pragma once
#include "hardware/generation.hpp"
#include "hardware/hardware.hpp"

namespace trainx::hardware {

/// Each rate is the share of its data sheet's peak that was measured on an H200.
Hardware estimate(const Generation& generation, const DataSheet& gpu);

}  // namespace trainx::hardware
