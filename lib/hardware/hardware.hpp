// What is known of a GPU: its limits, its measured rates, what its libraries take. A file each;
// what a generation has in common is in a file of its own.
#pragma once
#include "core/dtype.hpp"
#include "program/time.hpp"
#include <cstdint>
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
  // to other GPUs of the node, each way, beside products: by collectives, and by copies
  double link_bytes_per_s = 0, link_copy_bytes_per_s = 0;
  // the vendor's, without sparsity: what MFU is a share of
  double bf16_peak_flops = 0, tf32_peak_flops = 0, fp32_peak_flops = 0;
};

/// As --gpu takes them.
std::vector<std::string> hardware_names();
/// Throws UserError 2 for a name that is not in the table, with a suggestion.
const Hardware& hardware_named(std::string_view name);
/// The GPU of that capability whose memory is within 2 % of `memory_bytes`, as NVML tells both;
/// null where none was measured.
const Hardware* find_hardware(int compute_capability, std::int64_t memory_bytes);

/// Of all GPUs that trainx computes on: measured on one H200.
const ProcessBytes& process_bytes();

}  // namespace trainx::hardware
