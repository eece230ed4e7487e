#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// Data sheet: NVIDIA A100 Tensor Core GPU (2188504): 312e12 FLOPs per second in bf16, 156e12 in
// tf32, 19.5e12 in fp32; NVLink 3 has 300e9 bytes per second each way. 108 multiprocessors and
// 1410 MHz: NVIDIA A100 Tensor Core GPU Architecture, table 4.
// Network: DGX A100 User Guide, an adapter of 200 Gbit/s for each GPU.
const Generation& ampere() {
  static constexpr std::array<DataSheet, 2> gpus{
      {{"a100", 81920, 108, 1.410e9, 2048, 2.039e12, 300e9, pcie4_bytes_per_s},
       {"a100-40gb", 40960, 108, 1.410e9, 2048, 1.555e12, 300e9, pcie4_bytes_per_s}}};
  static constexpr Generation generation{"Ampere", 80,      64,  true, &tensor_core_choices,
                                         gpus,     gpus[1], 25e9};
  return generation;
}

}  // namespace trainx::hardware
