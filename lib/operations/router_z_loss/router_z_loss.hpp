// The loss that keeps logits of routers small (router_z_loss_spec.hpp).
#pragma once
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/router_z_loss/router_z_loss_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// What the product of a count and z is multiplied with.
inline double factor_of(const RouterZLoss& l) { return l.scale / static_cast<double>(l.rows); }
/// loss_sum[1] (f64) += the loss of z[l.ranks], which add up, as often as there are targets (i32,
/// those from 0 on).
void add_router_z_loss(const RouterZLoss& l, const Tensor& loss_sum, const Tensor& z,
                       const Tensor& targets);
/// d_z[1] of that, times the seed.
void router_z_loss_backward(const RouterZLoss& l, const Tensor& d_z, const Tensor& targets,
                            LossSeed seed);

}  // namespace trainx::operations
