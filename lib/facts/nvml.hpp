#pragma once
#include "facts/facts.hpp"
#include "facts/nvml_library.hpp"

namespace trainx::facts {

/// Asks NVML; empty where there is none.
std::vector<Gpu> nvml_gpus();
Gpu ask_gpu(const NvmlLibrary& nvml, NvmlDevice device, std::string name);

}  // namespace trainx::facts
