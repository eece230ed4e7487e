#pragma once
#include "facts/facts.hpp"

namespace trainx::facts {

/// Asks NVML; empty where there is none.
std::vector<Gpu> nvml_gpus();

}  // namespace trainx::facts
