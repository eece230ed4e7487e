#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// NVIDIA Ada GPU Architecture, appendix A: 165.2e12 FLOPs per second of an RTX 4090 in bf16 summed
// in fp32, 82.6e12 in fp32. Data sheets of the L40S (362e12, 91.6e12) and the L4 (121e12, 30.3e12).
const Generation& ada() {
  static constexpr std::array<DataSheet, 3> gpus{
      {{"rtx4090", 24564, 128, 2.520e9, 512, 1008e9, pcie4_bytes_per_s, pcie4_bytes_per_s},
       {"l40s", 46068, 142, 2.520e9, 1024, 864e9, pcie4_bytes_per_s, pcie4_bytes_per_s},
       {"l4", 23034, 58, 2.040e9, 1024, 300e9, pcie4_bytes_per_s, pcie4_bytes_per_s}}};
  static constexpr Generation generation{"Ada", 89, 128, true, &tensor_core_choices, gpus, gpus[0]};
  return generation;
}

}  // namespace trainx::hardware
