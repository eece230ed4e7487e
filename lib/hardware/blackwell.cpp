#include "hardware/generation.hpp"
#include "hardware/hopper.hpp"
#include <array>

namespace trainx::hardware {

// Data sheet: NVIDIA DGX B200, an eighth of it: 2.25e15 FLOPs per second in bf16 without sparsity,
// 8e12 bytes per second of memory, 1000 W; NVLink 5 has 900e9 each way. Tiles as Hopper's.
// Network: DGX B200 User Guide, an adapter of 400 Gbit/s for each GPU.
const Generation& blackwell() {
  static constexpr std::array<DataSheet, 1> gpus{
      {{"b200", 183359, 148, 1.850e9, 8192, 8e12, 1000, pcie5_bytes_per_s, 900e9}}};
  static const Generation generation{.name = "Blackwell",
                                     .compute_capability = 100,
                                     .cores = 128,
                                     .products_of_16_bits = hopper_tiles(1).choices,
                                     .gpus = gpus,
                                     .typical = gpus[0],
                                     .network_bytes_per_s = 50e9,
                                     .tensor_flops_per_joule = 1.5e12,
                                     .published_error = 0.17};
  return generation;
}

}  // namespace trainx::hardware
