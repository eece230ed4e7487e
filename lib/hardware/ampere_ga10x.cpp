#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// NVIDIA Ampere GA102 GPU Architecture, appendix A: 71e12 FLOPs per second of an RTX 3090 in bf16
// summed in fp32, half of what its tensor cores have in others; 35.6e12 in fp32. Data sheet of the
// A10: 125e12, 31.2e12.
const Generation& ampere_ga10x() {
  static constexpr std::array<DataSheet, 2> gpus{
      {{"rtx3090", 24576, 82, 1.695e9, 512, 936e9, pcie4_bytes_per_s, pcie4_bytes_per_s},
       {"a10", 23028, 72, 1.695e9, 1024, 600e9, pcie4_bytes_per_s, pcie4_bytes_per_s}}};
  static constexpr Generation generation{"Ampere (GA10x)",     86,   128,    true,
                                         &tensor_core_choices, gpus, gpus[0]};
  return generation;
}

}  // namespace trainx::hardware
