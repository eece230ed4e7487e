#include "ops/cast.hpp"
#include "ops/dispatch.hpp"

namespace trainx::ops {

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

}  // namespace trainx::ops
