#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// NVIDIA Ada GPU Architecture, appendix A: 165.2e12 FLOPs per second of an RTX 4090 in bf16 summed
// in fp32, 82.6e12 in fp32, 450 W. Data sheets of the L40S (362e12, 91.6e12, 350 W) and the L4
// (121e12, 30.3e12, 72 W). None has NVLink, and GeForce GPUs do not reach each other's memory.
// Fitted to rows of tests/data/published/rows.jsonl: tensor_share, above 1 as clocks go beyond the
// boost and operands come faster, to llmq-rtx4090-x1-0.5b-bf16; tensor_flops_per_joule and
// held_fp8_speedup to llmq-l40s-x1-1.5b-bf16-8 and -fp8-8.
const Generation& ada() {
  static constexpr std::array<DataSheet, 3> gpus{
      {{.name = "rtx4090",
        .memory_mib = 24564,
        .multiprocessors = 128,
        .clock_hz = 2.520e9,
        .tensor_flops = 512,
        .memory_bytes_per_s = 1008e9,
        .watts = 450,
        .host_bytes_per_s = pcie4_bytes_per_s,
        .reaches_by_pcie = false},
       {"l40s", 46068, 142, 2.520e9, 1024, 864e9, 350, pcie4_bytes_per_s},
       {"l4", 23034, 58, 2.040e9, 1024, 300e9, 72, pcie4_bytes_per_s}}};
  static constexpr Generation generation{.name = "Ada",
                                         .compute_capability = 89,
                                         .cores = 128,
                                         .products_of_16_bits = &tensor_core_choices,
                                         .gpus = gpus,
                                         .typical = gpus[0],
                                         .tensor_share = 1.2,
                                         .tensor_flops_per_joule = 0.61e12,
                                         .held_fp8_speedup = 1.5,
                                         .published_error = 0.19};
  return generation;
}

}  // namespace trainx::hardware
