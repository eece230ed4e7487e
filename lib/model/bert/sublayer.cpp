#include "model/bert/sublayer.hpp"
#include "model/linear_gradients.hpp"
#include "ops/layer_norm.hpp"
#include "ops/residual.hpp"

namespace trainx::model::bert {

using S = spec::bert::SublayerSlot;

void Sublayer::forward_norm(BlockContext& c) const {
  if (c.writes(S::residual_out)) {
    ops::PendingNorm before;
    if (c.has(S::norm_parameters))
      before = {c.tensor(S::norm_parameters, at_.norm_weight_before), c.tensor(S::norm_parameters, at_.norm_bias_before), shape_.dims.layer_norm_epsilon};
    ops::add_branch_to_norm(c[S::residual_out], c[S::residual_in], before, c[S::branch_in], c.tensor(S::parameters, at_.pending_bias), shape_.dropout(c, S::positions));
  }
  if (c.writes(S::mean) || c.writes(S::rstd)) ops::layer_norm_statistics(c[S::mean], c[S::rstd], c[S::residual_out], shape_.dims.layer_norm_epsilon);
  if (c.writes(S::normed))
    ops::layer_norm_apply(c[S::normed], c[S::residual_out], c[S::mean], c[S::rstd], c.tensor(S::parameters, at_.norm_weight), c.tensor(S::parameters, at_.norm_bias));
}

const at::Tensor& Sublayer::input(const BlockContext& c) const { return c.has(S::normed) ? c[S::normed] : c[S::residual_out]; }

const at::Tensor& Sublayer::d_branch(const BlockContext& c) const { return c[shape_.dims.dropout > 0 ? S::d_branch_out : S::d_residual_out]; }

void Sublayer::backward_input(BlockContext& c, const at::Tensor& d_product, const at::Tensor& weight) const {
  const at::Tensor& d_residual_out = c[S::d_residual_out];
  if (c.modifies(S::d_residual_out)) {  // the first block: no norm
    ops::linear_backward_input(d_residual_out, d_product, weight, d_residual_out);
    return;
  }
  const at::Tensor &d_normed = c[S::d_normed], &x = c[S::residual_out], &mean = c[S::mean], &rstd = c[S::rstd], &dx = c[S::d_residual_in];
  const bool accumulate = c.accumulates(S::d_parameters);
  ops::linear_backward_input(d_normed, d_product, weight, d_residual_out);
  ops::layer_norm_backward_parameters(c.tensor(S::d_parameters, at_.norm_weight), c.tensor(S::d_parameters, at_.norm_bias), d_normed, x, mean, rstd, accumulate);
  ops::layer_norm_backward(dx, {}, d_normed, x, mean, rstd, c.tensor(S::parameters, at_.norm_weight));
  const ops::Dropout drop = shape_.dropout(c, S::positions);
  if (drop) ops::drop_out(c[S::d_branch_in], dx, drop);
  ops::column_sum(c.tensor(S::d_parameters, at_.pending_bias), drop ? c[S::d_branch_in] : dx, accumulate);
}

void Sublayer::backward_linear(BlockContext& c, int weight, int bias, const at::Tensor& d_output, const at::Tensor& input) const {
  linear_gradients(c, c.tensor(S::d_parameters, weight), bias >= 0 ? c.tensor(S::d_parameters, bias) : at::Tensor(), S::cast, d_output, input, c.accumulates(S::d_parameters));
}

}  // namespace trainx::model::bert
