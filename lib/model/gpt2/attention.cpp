#include "model/gpt2/attention.hpp"
#include "operations/attention/attention.hpp"
#include "operations/linear/linear.hpp"

namespace trainx::model::gpt2 {

using spec::AttentionSlot;
using spec::AttentionTensor;

namespace {

/// [N, 3, H, D] as [B, T, 3, H, D], and [N, H, D] as [B, T, H, D]. A decoder's qkv has rows for the
/// tokens before and for some to come.
Tensor by_sample(const Tensor& x, const Shape& shape) {
  if (x.dim() == 4)
    return x.view({shape.batch, shape.length, 3, shape.dims.num_heads, shape.head_size()});
  return x.view({shape.batch, shape.length, shape.dims.num_heads, shape.head_size()});
}

Tensor by_row(const Tensor& x) { return x.view({x.size(0), -1}); }

}  // namespace

Attention::Attention(const Shape& shape, bool first)
    : Sublayer(shape,
               {AttentionSlot::residual_in, AttentionSlot::branch_in, AttentionSlot::d_residual_in,
                AttentionSlot::d_branch_in, AttentionTensor::ln_weight, AttentionTensor::ln_bias,
                AttentionTensor::pending_bias, first}) {}

void Attention::attend(BlockContext& c) const {
  const Tensor rows = c[AttentionSlot::qkv].narrow(0, 0, shape_.past() + shape_.rows());
  if (shape_.past() > 0) return operations::cached_attention(c[AttentionSlot::attention_out], rows);
  const Tensor out = by_sample(c[AttentionSlot::attention_out], shape_),
               qkv = by_sample(rows, shape_);
  if (shape_.dims.packed)
    operations::document_attention(out, c[AttentionSlot::lse], qkv,
                                   c[AttentionSlot::document_starts], shape_.dims.attention);
  else
    operations::causal_attention(out, c[AttentionSlot::lse], qkv, shape_.dims.attention);
}

void Attention::attend_backward(BlockContext& c, const Tensor& d_attention_out) const {
  const Tensor d_qkv = by_sample(c[AttentionSlot::d_qkv], shape_),
               d_out = by_sample(d_attention_out, shape_),
               qkv = by_sample(c[AttentionSlot::qkv], shape_),
               out = by_sample(c[AttentionSlot::attention_out], shape_);
  if (shape_.dims.packed)
    operations::document_attention_backward(d_qkv, d_out, qkv, out, c[AttentionSlot::lse],
                                            c[AttentionSlot::document_starts],
                                            shape_.dims.attention);
  else
    operations::causal_attention_backward(d_qkv, d_out, qkv, out, c[AttentionSlot::lse],
                                          shape_.dims.attention);
}

void Attention::forward(BlockContext& c) {
  forward_norm(c);
  const std::int64_t past = shape_.past(), rows = shape_.rows();
  if (c.writes(AttentionSlot::qkv))
    operations::linear(by_row(c[AttentionSlot::qkv]).narrow(0, past, rows),
                       c[AttentionSlot::normed],
                       c.tensor(AttentionSlot::parameters, AttentionTensor::c_attn_weight),
                       c.tensor(AttentionSlot::parameters, AttentionTensor::c_attn_bias));
  if (c.writes(AttentionSlot::attention_out) || c.writes(AttentionSlot::lse)) attend(c);
  if (c.writes(AttentionSlot::branch_out))
    operations::linear(c[AttentionSlot::branch_out], by_row(c[AttentionSlot::attention_out]),
                       c.tensor(AttentionSlot::parameters, AttentionTensor::c_proj_weight));
}

void Attention::backward(BlockContext& c) {
  const Tensor attention_out = by_row(c[AttentionSlot::attention_out]),
               d_qkv = by_row(c[AttentionSlot::d_qkv]);
  // dead before d_normed is written
  const Tensor& d_attention_out = c[AttentionSlot::d_normed];
  backward_linear(c, AttentionTensor::c_proj_weight, -1, d_branch(c), attention_out);
  operations::linear_backward_input(
      d_attention_out, d_branch(c),
      c.tensor(AttentionSlot::parameters, AttentionTensor::c_proj_weight));
  attend_backward(c, d_attention_out.view(c[AttentionSlot::attention_out].dims));
  backward_linear(c, AttentionTensor::c_attn_weight, AttentionTensor::c_attn_bias, d_qkv,
                  c[AttentionSlot::normed]);
  operations::linear_backward_input(
      c[AttentionSlot::d_normed], d_qkv,
      c.tensor(AttentionSlot::parameters, AttentionTensor::c_attn_weight));
  backward_norm(c);
}

}  // namespace trainx::model::gpt2
