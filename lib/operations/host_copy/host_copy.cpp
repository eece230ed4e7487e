#include "operations/host_copy/host_copy.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/host_copy/host_copy_backends.hpp"

namespace trainx::operations {

void copy_in(const Tensor& to, const void* from) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::copy_in(*gpu, to, from);
  return cpu::copy_in(to, from);
}

void copy_out(void* to, const Tensor& from) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(from)) return cuda::copy_out(*gpu, to, from);
  return cpu::copy_out(to, from);
}

}  // namespace trainx::operations
