// What is known of a GPU: its limits, its rates, what its libraries take. Measured GPUs have a file
// each; others are estimated from the data sheets of their generation, a file each too.
#pragma once
#include "core/dtype.hpp"
#include "hardware/links.hpp"
#include "program/time.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::hardware {

/// What an optimizer's kernels take for an element that compute longer than memory takes, by what
/// the weights are: fp32, 16 bits beside their low 16, or beside fp32.
struct ElementTimes {
  double fp32 = 0, split = 0, beside_fp32 = 0;
};

/// Memory of a process on the GPU beside what it allocates.
struct ProcessBytes {
  std::int64_t context = 0;          // CUDA context and kernels
  std::int64_t torch_attention = 0;  // LibTorch's CUDA half, where it computes attention
  std::int64_t torch_math = 0;       // with products for math attention
  std::int64_t communicator = 0;     // NCCL's channels and buffers, each communicator
  std::int64_t more_processors = 0;  // of one with 32 processors, beyond that
};

struct Hardware {
  std::string name;            // as --gpu takes it
  int compute_capability = 0;  // 90: 9.0
  std::int64_t memory_bytes = 0;
  program::Rates bf16, tf32, fp32;  // without a rate of products: not measured
  double host_kernel_s = 0;         // beside it, to launch a kernel: see program::Rates
  ElementTimes adamw_8bit, adafactor;
  LinkChoices links;               // to other GPUs of the node
  double network_bytes_per_s = 0;  // between nodes, for each GPU, each way: a guess
  // the vendor's, without sparsity: what MFU is a share of
  double bf16_peak_flops = 0, tf32_peak_flops = 0, fp32_peak_flops = 0;
  bool is_estimated = false;  // else the rates were measured on such a GPU
  // of estimated rates: Generation::published_error
  double published_error = 0;
};

/// As NVML tells; 0: not told.
struct NvmlFacts {
  int compute_capability = 0;
  std::int64_t memory_bytes = 0;
  int cores = 0;
  double clock_hz = 0;  // the highest
  double memory_bytes_per_s = 0;
};

/// As --gpu takes them.
std::vector<std::string> hardware_names();
/// Throws UserError 2 for a name that is not in the table, with a suggestion.
Hardware hardware_named(std::string_view name);
/// Measured, if such a GPU was; else estimated from data sheets, with NVML's numbers in place of
/// theirs. Names say nothing. Nothing if the capability or the memory is not told.
std::optional<Hardware> find_hardware(const NvmlFacts& told);

/// What CUDA gives of `memory_bytes`, as NVML tells them: the driver keeps a part. It kept 480 MiB
/// of an H100 and 615 MiB of an H200; here it is 1.5 %, and 900 MiB at most.
std::int64_t usable_bytes(std::int64_t memory_bytes);

/// Of all GPUs that trainx computes on: measured on one H200.
const ProcessBytes& process_bytes();

}  // namespace trainx::hardware
