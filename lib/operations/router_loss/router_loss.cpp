#include "operations/router_loss/router_loss.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/router_loss/router_loss_backends.hpp"

namespace trainx::operations {

void add_router_loss(const RouterLoss& l, const Tensor& loss_sum, const Tensor& balance,
                     const Tensor& targets) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(balance))
      return cuda::add_router_loss(*gpu, l, loss_sum, balance, targets);
  return cpu::add_router_loss(l, loss_sum, balance, targets);
}

void router_loss_backward(const RouterLoss& l, const Tensor& d_balance, const Tensor& balance,
                          const Tensor& targets, LossSeed seed) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(balance))
      return cuda::router_loss_backward(*gpu, l, d_balance, balance, targets, seed);
  return cpu::router_loss_backward(l, d_balance, balance, targets, seed);
}

}  // namespace trainx::operations
