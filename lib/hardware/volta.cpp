#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// Data sheet: NVIDIA Tesla V100 (SXM2): 125e12 FLOPs per second in fp16, 15.7e12 in fp32; NVLink 2
// has 150e9 bytes per second each way. Plans alone: no compiler of CUDA 13 makes code for it.
const Generation& volta() {
  static constexpr std::array<DataSheet, 2> gpus{
      {{"v100", 16384, 80, 1.530e9, 1024, 900e9, 300, pcie3_bytes_per_s, 150e9},
       {"v100-32gb", 32768, 80, 1.530e9, 1024, 900e9, 300, pcie3_bytes_per_s, 150e9}}};
  static constexpr Generation generation{.name = "Volta",
                                         .compute_capability = 70,
                                         .cores = 64,
                                         .has_bf16_and_tf32 = false,
                                         .products_of_16_bits = &tensor_core_choices,
                                         .gpus = gpus,
                                         .typical = gpus[0],
                                         .tensor_flops_per_joule = 0};
  return generation;
}

}  // namespace trainx::hardware
