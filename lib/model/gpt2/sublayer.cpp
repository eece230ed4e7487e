#include "model/gpt2/sublayer.hpp"
#include "model/linear_gradients.hpp"
#include "ops/column_sum.hpp"
#include "ops/layer_norm.hpp"
#include "ops/residual.hpp"

namespace trainx::model::gpt2 {

using S = spec::SublayerSlot;

void Sublayer::forward_norm(BlockContext& c) const {
  if (c.writes(S::residual_out))
    ops::add_branch(c[S::residual_out], c[at_.residual_in], c[at_.branch_in], c.tensor(S::parameters, at_.pending_bias), dropout(shape_, c, S::positions));
  if (c.writes(S::mean) || c.writes(S::rstd)) ops::layer_norm_statistics(c[S::mean], c[S::rstd], c[S::residual_out], shape_.dims.layer_norm_epsilon);
  if (c.writes(S::normed))
    ops::layer_norm_apply(c[S::normed], c[S::residual_out], c[S::mean], c[S::rstd], c.tensor(S::parameters, at_.ln_weight), c.tensor(S::parameters, at_.ln_bias));
}

const at::Tensor& Sublayer::d_branch(const BlockContext& c) const { return c[shape_.dims.dropout > 0 ? S::d_branch_out : S::d_residual_out]; }

void Sublayer::backward_norm(BlockContext& c) const {
  const at::Tensor &x = c[S::residual_out], &mean = c[S::mean], &rstd = c[S::rstd];
  const bool accumulate = c.accumulates(S::d_parameters);
  ops::layer_norm_backward_parameters(c.tensor(S::d_parameters, at_.ln_weight), c.tensor(S::d_parameters, at_.ln_bias), c[S::d_normed], x, mean, rstd, accumulate);
  const at::Tensor& dx = c[at_.first ? S::d_residual_out : at_.d_residual_in];
  ops::layer_norm_backward(dx, c[S::d_residual_out], c[S::d_normed], x, mean, rstd, c.tensor(S::parameters, at_.ln_weight));
  if (at_.first) return;
  const ops::Dropout drop = dropout(shape_, c, S::positions);
  if (drop) ops::drop_out(c[at_.d_branch_in], dx, drop);
  ops::column_sum(c.tensor(S::d_parameters, at_.pending_bias), drop ? c[at_.d_branch_in] : dx, accumulate);
}

void Sublayer::backward_linear(BlockContext& c, int weight, int bias, const at::Tensor& d_output, const at::Tensor& input) const {
  linear_gradients(c, c.tensor(S::d_parameters, weight), bias >= 0 ? c.tensor(S::d_parameters, bias) : at::Tensor(), S::cast, d_output, input, c.accumulates(S::d_parameters));
}

}  // namespace trainx::model::gpt2
