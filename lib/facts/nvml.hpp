#pragma once
#include <string>
#include <vector>

namespace trainx::facts {

/// Asks NVML; empty where there is none.
std::vector<std::string> nvml_gpu_names();

}  // namespace trainx::facts
