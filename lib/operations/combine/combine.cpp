#include "operations/combine/combine.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/combine/combine_backends.hpp"

namespace trainx::operations {

void combine(const Tensor& y, const CombineParts& of) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y)) return cuda::combine(*gpu, y, of);
  return cpu::combine(y, of);
}

void combine_backward(const CombineParts& to, const Tensor& dy, const CombineParts& of) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(dy)) return cuda::combine_backward(*gpu, to, dy, of);
  return cpu::combine_backward(to, dy, of);
}

}  // namespace trainx::operations
