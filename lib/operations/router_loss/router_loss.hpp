// The loss that keeps experts evenly busy (router_loss_spec.hpp). Tensors of the host.
#pragma once
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/router_loss/router_loss_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// loss_sum[1] (f64) += the loss of balance[2, E], times `times`.
void add_router_loss(const RouterLoss& l, const Tensor& loss_sum, const Tensor& balance,
                     double times);
/// d_balance[2, E] of that, times `seed`; of the counts it is 0.
void router_loss_backward(const RouterLoss& l, const Tensor& d_balance, const Tensor& balance,
                          double seed);

}  // namespace trainx::operations
