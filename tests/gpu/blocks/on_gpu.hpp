// A PlainRun's program on the GPU of this machine.
#pragma once
#include "operations/common/gpu.hpp"
#include "torch/model/plain_run.hpp"
#include <cstdint>
#include <string>

namespace trainx::model::test {

class OnGpu {
 public:
  /// Of a graph for a GPU. Copies all of its buffers to the device. `gemm_cache`: a file with times
  /// of matrix products, which choose among ways to compute them.
  explicit OnGpu(PlainRun& run, bool deterministic = false, const std::string& gemm_cache = "");
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  /// One step without its optimizer, then all buffers back into the run's memory.
  void run();

  const gpu::Gemm& gemm() const { return gemm_; }
  std::int64_t gemm_workspace_bytes() const { return gpu_.gemm_space.workspace_bytes; }

  operations::BatchNeeds needs;  // of the run's batch, as the executor takes them

 private:
  void* allocate(std::int64_t bytes);

  PlainRun& run_;
  gpu::Gemm gemm_;
  gpu::Attention attention_;
  operations::Gpu gpu_;
  std::vector<void*> memory_;  // of each buffer; then what belongs to none
};

}  // namespace trainx::model::test
