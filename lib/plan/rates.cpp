#include "plan/rates.hpp"
#include "core/error.hpp"

namespace trainx::plan {

// Sustained rates at the power limit (689-695 W of 700), GPT-2's shapes, torch 2.11.0+cu130: GEMM 617 TFLOP/s in bf16 and 46 in fp32 (x[2048, 1024]
// shapes), cuDNN attention 345 forward and 253 backward (together 275 over both, by FLOPs), 4.0 TB/s for element-wise kernels.
const Device& device_named(const std::string& name) {
  static const std::vector<Device> devices{
      {"h200", std::int64_t{139} << 30,
       {"H200, bf16", "one H200, sustained", 617e12, 275e12, 4.0e12, 0, 0, 0, 3e-6},
       {"H200, fp32", "one H200, sustained", 46e12, 46e12, 4.0e12, 0, 0, 0, 3e-6}},
  };
  std::string known;
  for (const Device& d : devices) {
    if (d.name == name) return d;
    known += (known.empty() ? "" : ", ") + d.name;
  }
  throw UserError(ExitCode::usage, "--gpu: no measured rates for '" + name + "'; there are rates for: " + known);
}

}  // namespace trainx::plan
