#include "model/gpt2/sublayer.hpp"
#include "model/linear_gradients.hpp"
#include "operations/norm/residual.hpp"

namespace trainx::model::gpt2 {

using spec::SublayerSlot;

void Sublayer::forward_norm(BlockContext& c) const {
  const bool adds = c.writes(SublayerSlot::residual_out),
             keeps = c.writes(SublayerSlot::mean) || c.writes(SublayerSlot::rstd),
             norms = c.writes(SublayerSlot::normed);
  if (!adds && !keeps && !norms) return;
  operations::NormedSum to{.sum = c[SublayerSlot::residual_out], .keep_statistics = keeps};
  Tensor weight, shift;
  if (keeps || norms) to.mean = c[SublayerSlot::mean], to.rstd = c[SublayerSlot::rstd];
  if (norms)
    to.normed = c[SublayerSlot::normed], weight = c.tensor(SublayerSlot::parameters, at_.ln_weight),
    shift = c.tensor(SublayerSlot::parameters, at_.ln_bias);
  if (!adds)
    return operations::add_branch_layer_norm(to, {}, {}, {}, weight, shift,
                                             shape_.dims.layer_norm_epsilon, {});
  operations::add_branch_layer_norm(to, c[at_.residual_in], c[at_.branch_in],
                                    c.tensor(SublayerSlot::parameters, at_.pending_bias), weight,
                                    shift, shape_.dims.layer_norm_epsilon,
                                    dropout(shape_, c, SublayerSlot::positions));
}

const Tensor& Sublayer::d_branch(const BlockContext& c) const {
  return c[shape_.dims.dropout > 0 ? SublayerSlot::d_branch_out : SublayerSlot::d_residual_out];
}

void Sublayer::backward_norm(BlockContext& c) const {
  const operations::Dropout drop = at_.first ? operations::Dropout{}
                                             : dropout(shape_, c, SublayerSlot::positions);
  operations::NormedSumGradients to;
  to.dx = c[at_.first ? SublayerSlot::d_residual_out : at_.d_residual_in];
  if (drop) to.d_branch = c[at_.d_branch_in];
  to.d_weight = c.tensor(SublayerSlot::d_parameters, at_.ln_weight);
  to.d_shift = c.tensor(SublayerSlot::d_parameters, at_.ln_bias);
  if (!at_.first) to.d_bias = c.tensor(SublayerSlot::d_parameters, at_.pending_bias);
  to.accumulate = c.accumulates(SublayerSlot::d_parameters);
  operations::add_branch_layer_norm_backward(
      to, c[SublayerSlot::d_residual_out], c[SublayerSlot::d_normed], c[SublayerSlot::residual_out],
      c[SublayerSlot::mean], c[SublayerSlot::rstd],
      c.tensor(SublayerSlot::parameters, at_.ln_weight), drop);
}

void Sublayer::backward_linear(BlockContext& c, int weight, int bias, const Tensor& d_output,
                               const Tensor& input) const {
  linear_gradients(c, c.tensor(SublayerSlot::d_parameters, weight),
                   bias >= 0 ? c.tensor(SublayerSlot::d_parameters, bias) : Tensor(),
                   SublayerSlot::cast, d_output, input, c.accumulates(SublayerSlot::d_parameters));
}

}  // namespace trainx::model::gpt2
