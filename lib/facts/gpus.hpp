#pragma once
#include <string>
#include <vector>

namespace trainx::facts {

/// Names of the GPUs that the driver shows this process, as NVML tells; empty without a driver. CUDA_VISIBLE_DEVICES is not applied.
std::vector<std::string> gpu_names();

}  // namespace trainx::facts
