#include "hardware/gpus.hpp"
#include "hardware/hopper.hpp"

namespace trainx::hardware {

// Files are those of tests/data/measured/h200. Rates are copied from rates.json, which
// bench/device/rates.py wrote on such a machine: sustained for seconds, at the power limit.
// kernel_s: the median of what products of less than 40 us take beyond their FLOPs, of gemm.json.
// Attention without fused kernels: the median of dimensions.jsonl. In fp32 and tf32, own kernels:
// what two sizes of attention.jsonl ask for, 1 and 4 samples of 512 tokens. To launch a kernel:
// what steps of BERT-large with one sample take that are launched one by one (predictions.json),
// with SGD. adafactor, for an element: what its updates take in guides/steps.jsonl. Of the others
// there the norm and the update stream 3.69e12 bytes/s, which is not used: bf16's products of 2048
// rows and what lies between them are predicted as much too long, since their tiles' rates were
// measured at the power limit.
Hardware h200() {
  constexpr double memory = 4.381e12;
  const char* source = "tests/data/measured/h200/rates.json";
  Hardware gpu{"h200",
               90,
               150109880320,
               {"H200, bf16", source, 617.3e12, 263.0e12, memory, 52.6e9, 0, 0, 0.91e-6,
                hopper_kernel_s, hopper_tiles(memory), 16.8e12, hopper_own_attention_flops},
               {"H200, tf32", source, 233.8e12, 101.9e12, memory, 52.6e9, 0, 0, 0.91e-6,
                hopper_kernel_s, hopper_tf32_tiles(memory), 0, 0, 0, 0, 8330},
               {"H200, fp32", source, 50.1e12, 47.0e12, memory, 52.6e9, 0, 0, 0.91e-6,
                hopper_kernel_s, hopper_fp32_tiles(memory), 0, 0, 0, 0, 3490}};
  gpu.host_kernel_s = 9.6e-6;
  gpu.adafactor = {13.5e-12, 14.0e-12, 13.9e-12};
  add_hopper(gpu);
  return gpu;
}

}  // namespace trainx::hardware
