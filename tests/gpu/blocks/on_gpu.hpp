// A PlainRun's program on the GPU of this machine.
#pragma once
#include "operations/common/gpu.hpp"
#include "torch/model/plain_run.hpp"
#include <cstdint>

namespace trainx::model::test {

class OnGpu {
 public:
  /// Of a graph for a GPU. Copies all of its buffers to the device.
  explicit OnGpu(PlainRun& run, bool deterministic = false);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  /// One step without its optimizer, then all buffers back into the run's memory.
  void run();

  operations::BatchNeeds needs;  // of the run's batch, as the executor takes them

 private:
  void* allocate(std::int64_t bytes);

  PlainRun& run_;
  gpu::Gemm gemm_{""};
  gpu::Attention attention_;
  operations::Gpu gpu_;
  std::vector<void*> memory_;  // of each buffer; then what belongs to none
};

}  // namespace trainx::model::test
