#include "model/gpt2/mlp.hpp"
#include "operations/activation/gelu.hpp"
#include "operations/linear/linear.hpp"
#include "operations/linear/linear_gelu.hpp"

namespace trainx::model::gpt2 {

using spec::MlpSlot;
using spec::MlpTensor;

Mlp::Mlp(const Shape& shape)
    : Sublayer(shape, {MlpSlot::residual_in, MlpSlot::branch_in, MlpSlot::d_residual_in,
                       MlpSlot::d_branch_in, MlpTensor::ln_weight, MlpTensor::ln_bias,
                       MlpTensor::pending_bias}) {}

void Mlp::forward(BlockContext& c) {
  forward_norm(c);
  const bool expands = c.writes(MlpSlot::preactivation), activates = c.writes(MlpSlot::activated);
  if (expands && activates) {
    operations::linear_gelu(c[MlpSlot::activated], c[MlpSlot::preactivation], c[MlpSlot::normed],
                            c.tensor(MlpSlot::parameters, MlpTensor::c_fc_weight),
                            c.tensor(MlpSlot::parameters, MlpTensor::c_fc_bias));
  } else {
    if (expands)
      operations::linear(c[MlpSlot::preactivation], c[MlpSlot::normed],
                         c.tensor(MlpSlot::parameters, MlpTensor::c_fc_weight),
                         c.tensor(MlpSlot::parameters, MlpTensor::c_fc_bias));
    if (activates) operations::gelu(c[MlpSlot::activated], c[MlpSlot::preactivation]);
  }
  if (c.writes(MlpSlot::branch_out))
    operations::linear(c[MlpSlot::branch_out], c[MlpSlot::activated],
                       c.tensor(MlpSlot::parameters, MlpTensor::c_proj_weight));
}

void Mlp::backward(BlockContext& c) {
  backward_linear(c, MlpTensor::c_proj_weight, -1, d_branch(c), c[MlpSlot::activated]);
  const Tensor& d_preactivation = c[MlpSlot::d_activated];  // in place
  operations::linear_gelu_backward(
      d_preactivation, c.tensor(MlpSlot::d_parameters, MlpTensor::c_fc_bias), d_branch(c),
      c.tensor(MlpSlot::parameters, MlpTensor::c_proj_weight), c[MlpSlot::preactivation],
      c.accumulates(MlpSlot::d_parameters));
  backward_linear(c, MlpTensor::c_fc_weight, -1, d_preactivation, c[MlpSlot::normed]);
  operations::linear_backward_input(c[MlpSlot::d_normed], d_preactivation,
                                    c.tensor(MlpSlot::parameters, MlpTensor::c_fc_weight));
  backward_norm(c);
}

}  // namespace trainx::model::gpt2
