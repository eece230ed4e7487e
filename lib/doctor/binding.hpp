// The section on cores that ranks are bound to.
#pragma once
#include "doctor/gpus.hpp"
#include "facts/core_binding.hpp"
#include "facts/lines.hpp"
#include "facts/section_json.hpp"

namespace trainx::doctor {

using namespace facts;

/// Of a run with one rank for each GPU that CUDA shows, or without GPUs for each NUMA node.
struct BindingFacts {
  CoreBinding binding;
  std::vector<std::string> gpus;  // PCI address of each rank's; empty: CPUs
};

BindingFacts detect_binding(const Roots& roots, const GpusFacts& gpus);
Json to_json(const BindingFacts& facts);
Lines describe(const BindingFacts& facts);

}  // namespace trainx::doctor
