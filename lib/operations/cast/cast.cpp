#include "operations/cast/cast.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/cast/cast_backends.hpp"

namespace trainx::operations {

void cast(const Tensor& to, const Tensor& from) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::cast(*gpu, to, from);
  return cpu::cast(to, from);
}

void add(const Tensor& to, const Tensor& from) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::add(*gpu, to, from);
  return cpu::add(to, from);
}

}  // namespace trainx::operations
