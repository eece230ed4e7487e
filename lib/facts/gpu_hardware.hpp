#pragma once
#include "facts/facts.hpp"
#include "hardware/hardware.hpp"

namespace trainx::facts {

/// Limits and rates of a GPU by what NVML tells of it; nothing if that is too little.
std::optional<hardware::Hardware> hardware_of(const Gpu& gpu);

/// Of the first `ranks` GPUs, the slowest way between two of them; nothing if NVML does not tell,
/// or there are fewer GPUs.
std::optional<hardware::Links> links_of(const HardwareFacts& facts, std::int64_t ranks);

}  // namespace trainx::facts
