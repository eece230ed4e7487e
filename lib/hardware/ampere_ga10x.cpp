#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// NVIDIA Ampere GA102 GPU Architecture, appendix A: 71e12 FLOPs per second of an RTX 3090 in bf16
// summed in fp32, half of what its tensor cores have in others; 35.6e12 in fp32. Its four links of
// NVLink 3 have 56.25e9 bytes per second each way, where a bridge joins two. GeForce drivers let
// GPUs reach each other over no other way. Data sheets of the A10 (125e12, 31.2e12), the A40
// (149.7e12, 37.4e12) and the RTX A6000 (154.8e12, 38.7e12), both with the same bridge.
const Generation& ampere_ga10x() {
  static constexpr std::array<DataSheet, 4> gpus{
      {{"rtx3090", 24576, 82, 1.695e9, 512, 936e9, 350, pcie4_bytes_per_s, 56.25e9, 2, false},
       {"a10", 23028, 72, 1.695e9, 1024, 600e9, 150, pcie4_bytes_per_s},
       {"a40", 46068, 84, 1.740e9, 1024, 696e9, 300, pcie4_bytes_per_s, 56.25e9, 2},
       {"rtxa6000", 49140, 84, 1.800e9, 1024, 768e9, 300, pcie4_bytes_per_s, 56.25e9, 2}}};
  static constexpr Generation generation{.name = "Ampere (GA10x)",
                                         .compute_capability = 86,
                                         .cores = 128,
                                         .products_of_16_bits = &tensor_core_choices,
                                         .gpus = gpus,
                                         .typical = gpus[0],
                                         .tensor_flops_per_joule = 0.45e12};
  return generation;
}

}  // namespace trainx::hardware
