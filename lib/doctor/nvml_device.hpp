#pragma once
#include "doctor/gpus.hpp"
#include "facts/nvml_library.hpp"

namespace trainx::doctor {

using namespace facts;

/// What NVML tells of one GPU. A field that this GPU does not have, as most lack NVLink, is empty
/// without a reason.
GpuFacts ask_device(const NvmlLibrary& nvml, NvmlDevice device, const Roots& roots);
/// Of two of them; `first` and `second` are what was asked of each.
GpuPairFacts ask_pair(const NvmlLibrary& nvml, NvmlDevice a, NvmlDevice b, const GpuFacts& first,
                      const GpuFacts& second);

}  // namespace trainx::doctor
