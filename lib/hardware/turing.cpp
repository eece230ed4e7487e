#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// Data sheet of the T4 (NVIDIA T4 Tensor Core GPU, DS-09010-001): 65e12 FLOPs per second in fp16,
// 8.1e12 in fp32, 70 W. TITAN RTX: 130e12 and 16.3e12; a bridge of NVLink 2 has 50e9 bytes per
// second each way. Tensor cores have neither bf16 nor tf32.
const Generation& turing() {
  static constexpr std::array<DataSheet, 2> gpus{
      {{"t4", 15360, 40, 1.590e9, 1024, 320e9, 70, pcie3_bytes_per_s},
       {"titanrtx", 24576, 72, 1.770e9, 1024, 672e9, 280, pcie3_bytes_per_s, 50e9, 2}}};
  static constexpr Generation generation{.name = "Turing",
                                         .compute_capability = 75,
                                         .cores = 64,
                                         .has_bf16_and_tf32 = false,
                                         .products_of_16_bits = &tensor_core_choices,
                                         .gpus = gpus,
                                         .typical = gpus[0],
                                         .tensor_flops_per_joule = 0.6e12};
  return generation;
}

}  // namespace trainx::hardware
