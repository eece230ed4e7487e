#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// NVIDIA RTX Blackwell GPU Architecture, appendix A: 209.5e12 FLOPs per second of an RTX 5090 in
// bf16 summed in fp32, 104.8e12 in fp32, 575 W. RTX 5060 Ti: 36 multiprocessors at 2.57 GHz,
// 448e9 bytes per second, 180 W, eight lanes of PCIe 5. RTX PRO 6000 Blackwell (Workstation
// Edition): its data sheet has 125e12 in fp32 and 600 W. None has NVLink, and GeForce GPUs do not
// reach each other's memory.
// tensor_share: as of Ada. Fitted to rows of tests/data/published/rows.jsonl:
// tensor_flops_per_joule and held_fp8_speedup to llmq-rtxpro6000-x1-1.5b-bf16 and -fp8.
const Generation& blackwell_geforce() {
  static constexpr std::array<DataSheet, 3> gpus{
      {{.name = "rtx5090",
        .memory_mib = 32607,
        .multiprocessors = 170,
        .clock_hz = 2.407e9,
        .tensor_flops = 512,
        .memory_bytes_per_s = 1792e9,
        .watts = 575,
        .host_bytes_per_s = pcie5_bytes_per_s,
        .reaches_by_pcie = false},
       {.name = "rtx5060ti",
        .memory_mib = 16311,
        .multiprocessors = 36,
        .clock_hz = 2.572e9,
        .tensor_flops = 512,
        .memory_bytes_per_s = 448e9,
        .watts = 180,
        .host_bytes_per_s = pcie5_bytes_per_s / 2,
        .reaches_by_pcie = false},
       {"rtxpro6000", 97887, 188, 2.600e9, 1024, 1792e9, 600, pcie5_bytes_per_s}}};
  static constexpr Generation generation{.name = "Blackwell (GeForce, RTX PRO)",
                                         .compute_capability = 120,
                                         .cores = 128,
                                         .products_of_16_bits = &tensor_core_choices,
                                         .gpus = gpus,
                                         .typical = gpus[0],
                                         .tensor_share = 1.2,
                                         .tensor_flops_per_joule = 0.66e12,
                                         .held_fp8_speedup = 1.55,
                                         .published_error = 0.16};
  return generation;
}

}  // namespace trainx::hardware
