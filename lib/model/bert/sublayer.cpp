#include "model/bert/sublayer.hpp"
#include "model/linear_gradients.hpp"
#include "operations/norm/residual.hpp"

namespace trainx::model::bert {

using spec::bert::SublayerSlot;

void Sublayer::forward_norm(BlockContext& c) const {
  const bool adds = c.writes(SublayerSlot::residual_out),
             keeps = c.writes(SublayerSlot::mean) || c.writes(SublayerSlot::rstd),
             norms = c.writes(SublayerSlot::normed);
  if (!adds && !keeps && !norms) return;
  const double epsilon = shape_.dims.layer_norm_epsilon;
  operations::NormedSum to{.sum = c[SublayerSlot::residual_out], .keep_statistics = keeps};
  Tensor weight, shift;
  if (keeps || norms) to.mean = c[SublayerSlot::mean], to.rstd = c[SublayerSlot::rstd];
  if (norms)
    to.normed = c[SublayerSlot::normed],
    weight = c.tensor(SublayerSlot::parameters, at_.norm_weight),
    shift = c.tensor(SublayerSlot::parameters, at_.norm_bias);
  if (!adds) return operations::add_branch_layer_norm(to, {}, {}, {}, weight, shift, epsilon, {});
  operations::PendingNorm before;
  if (c.has(SublayerSlot::norm_parameters))
    before = {c.tensor(SublayerSlot::norm_parameters, at_.norm_weight_before),
              c.tensor(SublayerSlot::norm_parameters, at_.norm_bias_before), epsilon};
  operations::add_branch_layer_norm(to, c[SublayerSlot::residual_in], c[SublayerSlot::branch_in],
                                    c.tensor(SublayerSlot::parameters, at_.pending_bias), weight,
                                    shift, epsilon, shape_.dropout(c, SublayerSlot::positions),
                                    before);
}

const Tensor& Sublayer::input(const BlockContext& c) const {
  return c.has(SublayerSlot::normed) ? c[SublayerSlot::normed] : c[SublayerSlot::residual_out];
}

const Tensor& Sublayer::d_branch(const BlockContext& c) const {
  return c[shape_.dims.dropout > 0 ? SublayerSlot::d_branch_out : SublayerSlot::d_residual_out];
}

void Sublayer::backward_input(BlockContext& c, const Tensor& d_product,
                              const Tensor& weight) const {
  const Tensor& d_residual_out = c[SublayerSlot::d_residual_out];
  if (c.modifies(SublayerSlot::d_residual_out)) {  // the first block: no norm
    operations::linear_backward_input(d_residual_out, d_product, weight, d_residual_out);
    return;
  }
  const Tensor& d_normed = c[SublayerSlot::d_normed];
  operations::linear_backward_input(d_normed, d_product, weight, d_residual_out);
  const operations::Dropout drop = shape_.dropout(c, SublayerSlot::positions);
  operations::NormedSumGradients to;
  to.dx = c[SublayerSlot::d_residual_in];
  if (drop) to.d_branch = c[SublayerSlot::d_branch_in];
  to.d_weight = c.tensor(SublayerSlot::d_parameters, at_.norm_weight);
  to.d_shift = c.tensor(SublayerSlot::d_parameters, at_.norm_bias);
  to.d_bias = c.tensor(SublayerSlot::d_parameters, at_.pending_bias);
  to.accumulate = c.accumulates(SublayerSlot::d_parameters);
  operations::add_branch_layer_norm_backward(
      to, {}, d_normed, c[SublayerSlot::residual_out], c[SublayerSlot::mean], c[SublayerSlot::rstd],
      c.tensor(SublayerSlot::parameters, at_.norm_weight), drop);
}

void Sublayer::backward_linear(BlockContext& c, int weight, int bias, const Tensor& d_output,
                               const Tensor& input) const {
  linear_gradients(c, c.tensor(SublayerSlot::d_parameters, weight),
                   bias >= 0 ? c.tensor(SublayerSlot::d_parameters, bias) : Tensor(),
                   SublayerSlot::cast, d_output, input, c.accumulates(SublayerSlot::d_parameters));
}

}  // namespace trainx::model::bert
