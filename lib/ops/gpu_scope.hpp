// Where operations compute. Within a GpuScope those of this thread are launched on a GPU; their
// tensors then are views of device memory, described as any other: nothing of LibTorch's own CUDA
// half is needed, and none of its operators may touch them.
#pragma once

namespace trainx::ops {

struct Gpu;                // ops/cuda/gpu.hpp
const Gpu* current_gpu();  // null: the CPU

class GpuScope {
 public:
  explicit GpuScope(const Gpu& gpu);
  ~GpuScope();
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

 private:
  const Gpu* before_;
};

}  // namespace trainx::ops

/// First in an operation that both can do.
#ifdef TRAINX_CUDA
#define TRAINX_ON_GPU(call) \
  if (const Gpu* const gpu = current_gpu()) return cuda::call
#else
#define TRAINX_ON_GPU(call) static_cast<void>(0)
#endif
