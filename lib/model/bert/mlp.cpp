#include "model/bert/mlp.hpp"
#include "ops/gelu.hpp"
#include "ops/linear.hpp"

namespace trainx::model::bert {

using S = spec::bert::MlpSlot;
using P = spec::bert::MlpTensor;

Mlp::Mlp(const Shape& shape)
    : Sublayer(shape, {P::norm_weight, P::norm_bias, P::pending_bias, spec::bert::AttentionTensor::norm_weight, spec::bert::AttentionTensor::norm_bias}) {}

void Mlp::forward(BlockContext& c) {
  forward_norm(c);
  if (c.writes(S::preactivation)) ops::linear(c[S::preactivation], input(c), c.tensor(S::parameters, P::intermediate_weight), c.tensor(S::parameters, P::intermediate_bias));
  if (c.writes(S::activated)) ops::gelu_erf(c[S::activated], c[S::preactivation]);
  if (c.writes(S::branch_out)) ops::linear(c[S::branch_out], c[S::activated], c.tensor(S::parameters, P::output_weight));
}

void Mlp::backward(BlockContext& c) {
  backward_linear(c, P::output_weight, -1, d_branch(c), c[S::activated]);
  const at::Tensor& d_preactivation = c[S::d_activated];   // in place
  ops::linear_backward_input(c[S::d_activated], d_branch(c), c.tensor(S::parameters, P::output_weight));
  ops::gelu_erf_backward_with_bias(d_preactivation, c.tensor(S::d_parameters, P::intermediate_bias), c[S::d_activated], c[S::preactivation], c.accumulates(S::d_parameters));
  backward_linear(c, P::intermediate_weight, -1, d_preactivation, input(c));
  backward_input(c, d_preactivation, c.tensor(S::parameters, P::intermediate_weight));
}

}  // namespace trainx::model::bert
