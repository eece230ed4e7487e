#include "model/bert/attention.hpp"
#include "model/linear_gradients.hpp"
#include "operations/attention/attention.hpp"

namespace trainx::model::bert {

using spec::bert::AttentionSlot;
using spec::bert::AttentionTensor;

Attention::Attention(const Shape& shape)
    : Sublayer(shape, {AttentionTensor::norm_weight, AttentionTensor::norm_bias,
                       AttentionTensor::pending_bias, spec::bert::MlpTensor::norm_weight,
                       spec::bert::MlpTensor::norm_bias}) {}

Tensor Attention::by_sample(const Tensor& x) const {
  if (x.dim() == 4)
    return x.view({shape_.batch, shape_.length, 3, shape_.dims.num_heads, shape_.head_size()});
  return x.view({shape_.batch, shape_.length, shape_.dims.num_heads, shape_.head_size()});
}

void Attention::forward(BlockContext& c) {
  forward_norm(c);
  if (c.writes(AttentionSlot::qkv))
    operations::linear(by_row(c[AttentionSlot::qkv]), input(c),
                       c.joined(AttentionSlot::parameters, AttentionTensor::query_weight, 3),
                       c.joined(AttentionSlot::parameters, AttentionTensor::query_bias, 3));
  if (c.writes(AttentionSlot::attention_out) || c.writes(AttentionSlot::lse))
    operations::bidirectional_attention(by_sample(c[AttentionSlot::attention_out]),
                                        c[AttentionSlot::lse], by_sample(c[AttentionSlot::qkv]),
                                        c[AttentionSlot::lengths], shape_.dims.attention);
  if (c.writes(AttentionSlot::branch_out))
    operations::linear(c[AttentionSlot::branch_out], by_row(c[AttentionSlot::attention_out]),
                       c.tensor(AttentionSlot::parameters, AttentionTensor::output_weight));
}

void Attention::backward(BlockContext& c) {
  const Tensor d_qkv = by_row(c[AttentionSlot::d_qkv]);
  // dead before d_normed is written
  const Tensor& d_attention_out = c[AttentionSlot::d_normed];
  backward_linear(c, AttentionTensor::output_weight, -1, d_branch(c),
                  by_row(c[AttentionSlot::attention_out]));
  operations::linear_backward_input(
      d_attention_out, d_branch(c),
      c.tensor(AttentionSlot::parameters, AttentionTensor::output_weight));
  operations::bidirectional_attention_backward(
      by_sample(c[AttentionSlot::d_qkv]),
      by_sample(d_attention_out.view(c[AttentionSlot::attention_out].dims)),
      by_sample(c[AttentionSlot::qkv]), by_sample(c[AttentionSlot::attention_out]),
      c[AttentionSlot::lse], c[AttentionSlot::lengths], shape_.dims.attention);
  linear_gradients(c, c.joined(AttentionSlot::d_parameters, AttentionTensor::query_weight, 3),
                   c.joined(AttentionSlot::d_parameters, AttentionTensor::query_bias, 3),
                   AttentionSlot::cast, d_qkv, input(c),
                   c.accumulates(AttentionSlot::d_parameters));
  backward_input(c, d_qkv, c.joined(AttentionSlot::parameters, AttentionTensor::query_weight, 3));
}

}  // namespace trainx::model::bert
