#pragma once
#include "core/dtype.hpp"
#include "program/time.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::plan {

/// What an optimizer's kernels take for an element that compute longer than memory takes, by what
/// the weights are: fp32, 16 bits beside their low 16, or beside fp32.
struct ElementTimes {
  double fp32 = 0, split = 0, beside_fp32 = 0;
};

/// A GPU whose rates were measured.
struct Device {
  std::string name;  // as --gpu takes it
  std::int64_t memory_bytes = 0;
  program::Rates bf16, tf32, fp32;  // without a rate of products: not measured
  double host_kernel_s = 0;         // beside it, to launch a kernel: see program::Rates
  ElementTimes adamw_8bit, adafactor;
  // to other GPUs of the node, each way, by the vendor's data sheet
  double sheet_link_bytes_per_s = 0;
  // the vendor's, without sparsity: what MFU is a share of
  double bf16_peak_flops = 0, tf32_peak_flops = 0, fp32_peak_flops = 0;
};

/// As --gpu takes them.
std::vector<std::string> device_names();
/// Throws UserError 2 for a name that is not in the table, with a suggestion.
const Device& device_named(std::string_view name);
/// By the driver's name of a GPU ("NVIDIA H200"); null where its rates were not measured.
const Device* device_called(const std::string& gpu);

}  // namespace trainx::plan
