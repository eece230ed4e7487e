#include "operations/module/module_device.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/common/gpu_scope.hpp"
#include <c10/core/Device.h>

namespace trainx::operations {

void on_module_device(const std::string& doing, const std::function<void()>& f) {
  if constexpr (has_cuda)
    if (current_gpu()) return cuda::on_module_device(doing, f);
  f();
}

void between_steps_on_module_device(const std::string& doing, const std::function<void()>& f) {
  if constexpr (has_cuda) return cuda::between_steps_on_module_device(doing, f);
  f();
}

c10::Device module_device() {
  if constexpr (has_cuda) return cuda::module_device();
  return {c10::DeviceType::CPU};
}

}  // namespace trainx::operations
