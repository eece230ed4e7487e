// The loss that keeps experts evenly busy (router_loss_spec.hpp).
#pragma once
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/router_loss/router_loss_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// What the product of a count and a sum is multiplied with.
inline double factor_of(const RouterLoss& l) {
  const auto rows = static_cast<double>(l.rows);
  return l.scale * static_cast<double>(l.experts) / (rows * rows);
}
/// loss_sum[1] (f64) += the loss of balance[2, E], or of the sum of those of l.ranks ranks, as
/// often as there are targets (i32, those from 0 on).
void add_router_loss(const RouterLoss& l, const Tensor& loss_sum, const Tensor& balance,
                     const Tensor& targets);
/// d_balance[2, E] of that, of one rank, times the seed; of the counts it is 0.
void router_loss_backward(const RouterLoss& l, const Tensor& d_balance, const Tensor& balance,
                          const Tensor& targets, LossSeed seed);

}  // namespace trainx::operations
