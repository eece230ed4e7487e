#include "model/bert/attention.hpp"
#include "model/linear_gradients.hpp"
#include "ops/attention.hpp"

namespace trainx::model::bert {

using S = spec::bert::AttentionSlot;
using P = spec::bert::AttentionTensor;

Attention::Attention(const Shape& shape)
    : Sublayer(shape, {P::norm_weight, P::norm_bias, P::pending_bias, spec::bert::MlpTensor::norm_weight, spec::bert::MlpTensor::norm_bias}) {}

at::Tensor Attention::by_sample(const at::Tensor& x) const {
  if (x.dim() == 4) return x.view({shape_.batch, shape_.length, 3, shape_.dims.num_heads, shape_.head_size()});
  return x.view({shape_.batch, shape_.length, shape_.dims.num_heads, shape_.head_size()});
}

void Attention::forward(BlockContext& c) {
  forward_norm(c);
  if (c.writes(S::qkv)) ops::linear(by_row(c[S::qkv]), input(c), c.joined(S::parameters, P::query_weight, 3), c.joined(S::parameters, P::query_bias, 3));
  if (c.writes(S::attention_out) || c.writes(S::lse)) ops::bidirectional_attention(by_sample(c[S::attention_out]), c[S::lse], by_sample(c[S::qkv]), c[S::lengths], shape_.dims.attention);
  if (c.writes(S::branch_out)) ops::linear(c[S::branch_out], by_row(c[S::attention_out]), c.tensor(S::parameters, P::output_weight));
}

void Attention::backward(BlockContext& c) {
  const at::Tensor d_qkv = by_row(c[S::d_qkv]);
  const at::Tensor& d_attention_out = c[S::d_normed];   // dead before d_normed is written
  backward_linear(c, P::output_weight, -1, d_branch(c), by_row(c[S::attention_out]));
  ops::linear_backward_input(d_attention_out, d_branch(c), c.tensor(S::parameters, P::output_weight));
  ops::bidirectional_attention_backward(by_sample(c[S::d_qkv]), by_sample(d_attention_out.view(c[S::attention_out].sizes())), by_sample(c[S::qkv]),
                                        by_sample(c[S::attention_out]), c[S::lse], c[S::lengths], shape_.dims.attention);
  linear_gradients(c, c.joined(S::d_parameters, P::query_weight, 3), c.joined(S::d_parameters, P::query_bias, 3), S::cast, d_qkv, input(c), c.accumulates(S::d_parameters));
  backward_input(c, d_qkv, c.joined(S::parameters, P::query_weight, 3));
}

}  // namespace trainx::model::bert
