// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/router_loss/router_loss.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void add_router_loss(const RouterLoss& l, const Tensor& loss_sum, const Tensor& balance,
                     const Tensor& targets);
void router_loss_backward(const RouterLoss& l, const Tensor& d_balance, const Tensor& balance,
                          const Tensor& targets, LossSeed seed);
}  // namespace cpu

namespace cuda {
void add_router_loss(const Gpu& gpu, const RouterLoss& l, const Tensor& loss_sum,
                     const Tensor& balance, const Tensor& targets);
void router_loss_backward(const Gpu& gpu, const RouterLoss& l, const Tensor& d_balance,
                          const Tensor& balance, const Tensor& targets, LossSeed seed);
}  // namespace cuda

}  // namespace trainx::operations
