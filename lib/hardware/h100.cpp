#include "hardware/gpus.hpp"
#include "hardware/hopper.hpp"

namespace trainx::hardware {

// An H100 SXM has the H200's multiprocessors and library (GH100, 132 of compute capability 9.0), so
// that its products have the same tiles. Only its memory is slower. Rates: see h200.cpp.
Hardware h100() {
  constexpr double memory = 3.041e12;
  const char* source = "tests/data/measured/h100/rates.json";
  Hardware gpu{"h100",
               90,
               85017493504,
               {"H100, bf16", source, 624.7e12, 250.4e12, memory, 0, 0, 0, 1.0e-6, hopper_kernel_s,
                hopper_tiles(memory), 16.8e12, hopper_own_attention_flops},
               {"H100, tf32", source, 0, 28.96e12, memory, 0, 0, 0, 1.0e-6},
               {"H100, fp32", source, 50.6e12, 28.96e12, memory, 0, 0, 0, 1.0e-6, hopper_kernel_s,
                hopper_fp32_tiles(memory)}};
  add_hopper(gpu);
  return gpu;
}

}  // namespace trainx::hardware
