#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// Tesla K80 board specification (BD-07317-001): two GPUs, of which each has 13 multiprocessors of
// 192 cores, 12 GB at 240e9 bytes per second, and half of 300 W. There are no tensor cores: 16 bits
// are computed as fp32. Plans alone: no compiler of CUDA 13 makes code for it.
const Generation& kepler() {
  static constexpr std::array<DataSheet, 1> gpus{
      {{"k80", 11441, 13, 0.875e9, 384, 240e9, 150, pcie3_bytes_per_s}}};
  static constexpr Generation generation{.name = "Kepler",
                                         .compute_capability = 37,
                                         .cores = 192,
                                         .has_bf16_and_tf32 = false,
                                         .products_of_16_bits = &tensor_core_choices,
                                         .gpus = gpus,
                                         .typical = gpus[0],
                                         .tensor_flops_per_joule = 0};
  return generation;
}

}  // namespace trainx::hardware
