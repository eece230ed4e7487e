#include "model/bert/mlp.hpp"
#include "operations/activation/gelu.hpp"
#include "operations/linear/linear.hpp"

namespace trainx::model::bert {

using spec::bert::MlpSlot;
using spec::bert::MlpTensor;

Mlp::Mlp(const Shape& shape)
    : Sublayer(shape, {MlpTensor::norm_weight, MlpTensor::norm_bias, MlpTensor::pending_bias,
                       spec::bert::AttentionTensor::norm_weight,
                       spec::bert::AttentionTensor::norm_bias}) {}

void Mlp::forward(BlockContext& c) {
  forward_norm(c);
  if (c.writes(MlpSlot::preactivation))
    operations::linear(c[MlpSlot::preactivation], input(c),
                       c.tensor(MlpSlot::parameters, MlpTensor::intermediate_weight),
                       c.tensor(MlpSlot::parameters, MlpTensor::intermediate_bias));
  if (c.writes(MlpSlot::activated))
    operations::gelu_erf(c[MlpSlot::activated], c[MlpSlot::preactivation]);
  if (c.writes(MlpSlot::branch_out))
    operations::linear(c[MlpSlot::branch_out], c[MlpSlot::activated],
                       c.tensor(MlpSlot::parameters, MlpTensor::output_weight));
}

void Mlp::backward(BlockContext& c) {
  backward_linear(c, MlpTensor::output_weight, -1, d_branch(c), c[MlpSlot::activated]);
  const Tensor& d_preactivation = c[MlpSlot::d_activated];  // in place
  operations::linear_backward_input(c[MlpSlot::d_activated], d_branch(c),
                                    c.tensor(MlpSlot::parameters, MlpTensor::output_weight));
  operations::gelu_erf_backward_with_bias(
      d_preactivation, c.tensor(MlpSlot::d_parameters, MlpTensor::intermediate_bias),
      c[MlpSlot::d_activated], c[MlpSlot::preactivation], c.accumulates(MlpSlot::d_parameters));
  backward_linear(c, MlpTensor::intermediate_weight, -1, d_preactivation, input(c));
  backward_input(c, d_preactivation, c.tensor(MlpSlot::parameters, MlpTensor::intermediate_weight));
}

}  // namespace trainx::model::bert
