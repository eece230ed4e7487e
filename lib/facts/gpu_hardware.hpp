#pragma once
#include "facts/facts.hpp"
#include "hardware/hardware.hpp"

namespace trainx::facts {

/// Limits and rates of a GPU by what NVML tells of it; nothing if that is too little.
std::optional<hardware::Hardware> hardware_of(const Gpu& gpu);

}  // namespace trainx::facts
