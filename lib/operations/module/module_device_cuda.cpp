#include "operations/module/module_device.hpp"
#include "core/error.hpp"
#include "gpu/gpu_error.hpp"
#include "operations/attention/torch_cuda.hpp"
#include "operations/common/gpu.hpp"
#include "operations/common/gpu_scope.hpp"
#include <c10/core/impl/VirtualGuardImpl.h>

namespace trainx::operations {

void cuda::on_module_device(const std::string& doing, const std::function<void()>& f) {
  const Gpu& gpu = *current_gpu();
  if (!gpu.torch) throw InternalError(doing + " computes on a GPU without memory of its own");
  {
    const TorchCuda::Call call(*gpu.torch, doing);
    gpu::with_device(doing, f);
  }
  gpu.done(Work::other);
}

void cuda::between_steps_on_module_device(const std::string& doing,
                                          const std::function<void()>& f) {
  TorchCuda* const torch = TorchCuda::current();
  if (!torch) return f();
  const TorchCuda::Call call(*torch, doing);
  gpu::with_device(doing, f);
  gpu::require(cudaStreamSynchronize(torch->stream()), doing);
}

c10::Device cuda::module_device() {
  if (!TorchCuda::current()) return {c10::DeviceType::CPU};
  return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getDevice();
}

}  // namespace trainx::operations
