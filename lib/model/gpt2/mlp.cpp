#include "model/gpt2/mlp.hpp"
#include "ops/gelu.hpp"
#include "ops/linear.hpp"
#include "ops/linear_gelu.hpp"

namespace trainx::model::gpt2 {

using S = spec::MlpSlot;
using P = spec::MlpTensor;

Mlp::Mlp(const Shape& shape) : Sublayer(shape, {S::residual_in, S::branch_in, S::d_residual_in, S::d_branch_in, P::ln_weight, P::ln_bias, P::pending_bias}) {}

void Mlp::forward(BlockContext& c) {
  forward_norm(c);
  const bool expands = c.writes(S::preactivation), activates = c.writes(S::activated);
  if (expands && activates) {
    ops::linear_gelu(c[S::activated], c[S::preactivation], c[S::normed], c.tensor(S::parameters, P::c_fc_weight), c.tensor(S::parameters, P::c_fc_bias));
  } else {
    if (expands) ops::linear(c[S::preactivation], c[S::normed], c.tensor(S::parameters, P::c_fc_weight), c.tensor(S::parameters, P::c_fc_bias));
    if (activates) ops::gelu(c[S::activated], c[S::preactivation]);
  }
  if (c.writes(S::branch_out)) ops::linear(c[S::branch_out], c[S::activated], c.tensor(S::parameters, P::c_proj_weight));
}

void Mlp::backward(BlockContext& c) {
  backward_linear(c, P::c_proj_weight, -1, d_branch(c), c[S::activated]);
  const at::Tensor& d_preactivation = c[S::d_activated];   // in place
  ops::linear_gelu_backward(d_preactivation, c.tensor(S::d_parameters, P::c_fc_bias), d_branch(c), c.tensor(S::parameters, P::c_proj_weight), c[S::preactivation],
                            c.accumulates(S::d_parameters));
  backward_linear(c, P::c_fc_weight, -1, d_preactivation, c[S::normed]);
  ops::linear_backward_input(c[S::d_normed], d_preactivation, c.tensor(S::parameters, P::c_fc_weight));
  backward_norm(c);
}

}  // namespace trainx::model::gpt2
