#include "operations/router_z_loss/router_z_loss.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/router_z_loss/router_z_loss_backends.hpp"

namespace trainx::operations {

void add_router_z_loss(const RouterZLoss& l, const Tensor& loss_sum, const Tensor& z,
                       const Tensor& targets) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(z)) return cuda::add_router_z_loss(*gpu, l, loss_sum, z, targets);
  return cpu::add_router_z_loss(l, loss_sum, z, targets);
}

void router_z_loss_backward(const RouterZLoss& l, const Tensor& d_z, const Tensor& targets,
                            LossSeed seed) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(d_z))
      return cuda::router_z_loss_backward(*gpu, l, d_z, targets, seed);
  return cpu::router_z_loss_backward(l, d_z, targets, seed);
}

}  // namespace trainx::operations
