#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// NVIDIA RTX Blackwell GPU Architecture, appendix A: 209.5e12 FLOPs per second of an RTX 5090 in
// bf16 summed in fp32, 104.8e12 in fp32. RTX PRO 6000 Blackwell (Workstation Edition): its data
// sheet has 125e12 in fp32.
const Generation& blackwell_geforce() {
  static constexpr std::array<DataSheet, 2> gpus{
      {{"rtx5090", 32607, 170, 2.407e9, 512, 1792e9, pcie5_bytes_per_s, pcie5_bytes_per_s},
       {"rtxpro6000", 97887, 188, 2.600e9, 1024, 1792e9, pcie5_bytes_per_s, pcie5_bytes_per_s}}};
  static constexpr Generation generation{"Blackwell (GeForce, RTX PRO)", 120,  128,    true,
                                         &tensor_core_choices,           gpus, gpus[0]};
  return generation;
}

}  // namespace trainx::hardware
