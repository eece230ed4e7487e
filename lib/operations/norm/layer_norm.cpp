#include "operations/norm/layer_norm.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/norm/norm_backends.hpp"

namespace trainx::operations {

void layer_norm(const Tensor& normed, const Tensor& x, const Tensor& weight, const Tensor& bias,
                double epsilon) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(normed))
      return cuda::layer_norm(*gpu, normed, x, weight, bias, epsilon);
  return cpu::layer_norm(normed, x, weight, bias, epsilon);
}

}  // namespace trainx::operations
