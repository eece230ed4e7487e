// What operations on tensors of a GPU are launched with, by this thread.
#pragma once

namespace trainx::operations {

struct Gpu;                // ops/cuda/gpu.hpp
const Gpu* current_gpu();  // null outside a scope

class GpuScope {
 public:
  explicit GpuScope(const Gpu& gpu);
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

 private:
  const Gpu* before_;
};

}  // namespace trainx::operations
