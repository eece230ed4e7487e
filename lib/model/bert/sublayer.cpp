#include "model/bert/sublayer.hpp"
#include "model/linear_gradients.hpp"
#include "ops/residual.hpp"

namespace trainx::model::bert {

using S = spec::bert::SublayerSlot;

void Sublayer::forward_norm(BlockContext& c) const {
  const bool adds = c.writes(S::residual_out), keeps = c.writes(S::mean) || c.writes(S::rstd), norms = c.writes(S::normed);
  if (!adds && !keeps && !norms) return;
  const double epsilon = shape_.dims.layer_norm_epsilon;
  ops::NormedSum to{.sum = c[S::residual_out], .keep_statistics = keeps};
  at::Tensor weight, shift;
  if (keeps || norms) to.mean = c[S::mean], to.rstd = c[S::rstd];
  if (norms) to.normed = c[S::normed], weight = c.tensor(S::parameters, at_.norm_weight), shift = c.tensor(S::parameters, at_.norm_bias);
  if (!adds) return ops::add_branch_layer_norm(to, {}, {}, {}, weight, shift, epsilon, {});
  ops::PendingNorm before;
  if (c.has(S::norm_parameters)) before = {c.tensor(S::norm_parameters, at_.norm_weight_before), c.tensor(S::norm_parameters, at_.norm_bias_before), epsilon};
  ops::add_branch_layer_norm(to, c[S::residual_in], c[S::branch_in], c.tensor(S::parameters, at_.pending_bias), weight, shift, epsilon, shape_.dropout(c, S::positions), before);
}

const at::Tensor& Sublayer::input(const BlockContext& c) const { return c.has(S::normed) ? c[S::normed] : c[S::residual_out]; }

const at::Tensor& Sublayer::d_branch(const BlockContext& c) const { return c[shape_.dims.dropout > 0 ? S::d_branch_out : S::d_residual_out]; }

void Sublayer::backward_input(BlockContext& c, const at::Tensor& d_product, const at::Tensor& weight) const {
  const at::Tensor& d_residual_out = c[S::d_residual_out];
  if (c.modifies(S::d_residual_out)) {  // the first block: no norm
    ops::linear_backward_input(d_residual_out, d_product, weight, d_residual_out);
    return;
  }
  const at::Tensor& d_normed = c[S::d_normed];
  ops::linear_backward_input(d_normed, d_product, weight, d_residual_out);
  const ops::Dropout drop = shape_.dropout(c, S::positions);
  ops::NormedSumGradients to;
  to.dx = c[S::d_residual_in];
  if (drop) to.d_branch = c[S::d_branch_in];
  to.d_weight = c.tensor(S::d_parameters, at_.norm_weight);
  to.d_shift = c.tensor(S::d_parameters, at_.norm_bias);
  to.d_bias = c.tensor(S::d_parameters, at_.pending_bias);
  to.accumulate = c.accumulates(S::d_parameters);
  ops::add_branch_layer_norm_backward(to, {}, d_normed, c[S::residual_out], c[S::mean], c[S::rstd], c.tensor(S::parameters, at_.norm_weight), drop);
}

void Sublayer::backward_linear(BlockContext& c, int weight, int bias, const at::Tensor& d_output, const at::Tensor& input) const {
  linear_gradients(c, c.tensor(S::d_parameters, weight), bias >= 0 ? c.tensor(S::d_parameters, bias) : at::Tensor(), S::cast, d_output, input, c.accumulates(S::d_parameters));
}

}  // namespace trainx::model::bert
