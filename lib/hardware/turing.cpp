#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// Data sheet of the T4 (NVIDIA T4 Tensor Core GPU, DS-09010-001): 65e12 FLOPs per second in fp16,
// 8.1e12 in fp32. Tensor cores have neither bf16 nor tf32.
const Generation& turing() {
  static constexpr std::array<DataSheet, 1> gpus{
      {{"t4", 15360, 40, 1.590e9, 1024, 320e9, pcie3_bytes_per_s, pcie3_bytes_per_s}}};
  static constexpr Generation generation{"Turing", 75,     64, false, &tensor_core_choices,
                                         gpus,     gpus[0]};
  return generation;
}

}  // namespace trainx::hardware
