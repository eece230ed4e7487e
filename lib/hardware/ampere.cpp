#include "hardware/generation.hpp"
#include "hardware/tensor_core_tiles.hpp"
#include <array>

namespace trainx::hardware {

// Data sheet: NVIDIA A100 Tensor Core GPU (2188504): 312e12 FLOPs per second in bf16, 156e12 in
// tf32, 19.5e12 in fp32, 400 W; NVLink 3 has 300e9 bytes per second each way. 108 multiprocessors
// and 1410 MHz: NVIDIA A100 Tensor Core GPU Architecture, table 4.
// tensor_flops_per_joule: fitted to foundry-a100-x8-7b-bf16 of tests/data/published/rows.jsonl.
// published_error: of the rows foundry-a100, which do not count, as their kernels are launched one
// by one, and are as fast.
// Network: DGX A100 User Guide, an adapter of 200 Gbit/s for each GPU.
const Generation& ampere() {
  static constexpr std::array<DataSheet, 2> gpus{
      {{"a100", 81920, 108, 1.410e9, 2048, 2.039e12, 400, pcie4_bytes_per_s, 300e9},
       {"a100-40gb", 40960, 108, 1.410e9, 2048, 1.555e12, 400, pcie4_bytes_per_s, 300e9}}};
  static constexpr Generation generation{.name = "Ampere",
                                         .compute_capability = 80,
                                         .cores = 64,
                                         .products_of_16_bits = &tensor_core_choices,
                                         .gpus = gpus,
                                         .typical = gpus[1],
                                         .network_bytes_per_s = 25e9,
                                         .tensor_flops_per_joule = 0.525e12,
                                         .published_error = 0.1};
  return generation;
}

}  // namespace trainx::hardware
