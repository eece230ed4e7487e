#include "model/gpt2/attention.hpp"
#include "ops/attention.hpp"
#include "ops/linear.hpp"

namespace trainx::model::gpt2 {

using S = spec::AttentionSlot;
using P = spec::AttentionTensor;

namespace {

/// [N, 3, H, D] as [B, T, 3, H, D], and [N, H, D] as [B, T, H, D]. A decoder's qkv has rows for the tokens before and for some to come.
at::Tensor by_sample(const at::Tensor& x, const Shape& shape) {
  if (x.dim() == 4) return x.view({shape.batch, shape.length, 3, shape.dims.num_heads, shape.head_size()});
  return x.view({shape.batch, shape.length, shape.dims.num_heads, shape.head_size()});
}

at::Tensor by_row(const at::Tensor& x) { return x.view({x.size(0), -1}); }

}  // namespace

Attention::Attention(const Shape& shape, bool first)
    : Sublayer(shape, {S::residual_in, S::branch_in, S::d_residual_in, S::d_branch_in, P::ln_weight, P::ln_bias, P::pending_bias, first}) {}

void Attention::attend(BlockContext& c) const {
  const at::Tensor rows = c[S::qkv].narrow(0, 0, shape_.past() + shape_.rows());
  if (shape_.past() > 0) return ops::cached_attention(c[S::attention_out], rows);
  const at::Tensor out = by_sample(c[S::attention_out], shape_), qkv = by_sample(rows, shape_);
  if (shape_.dims.packed) ops::document_attention(out, c[S::lse], qkv, c[S::document_starts], shape_.dims.attention);
  else ops::causal_attention(out, c[S::lse], qkv, shape_.dims.attention);
}

void Attention::attend_backward(BlockContext& c, const at::Tensor& d_attention_out) const {
  const at::Tensor d_qkv = by_sample(c[S::d_qkv], shape_), d_out = by_sample(d_attention_out, shape_), qkv = by_sample(c[S::qkv], shape_), out = by_sample(c[S::attention_out], shape_);
  if (shape_.dims.packed) ops::document_attention_backward(d_qkv, d_out, qkv, out, c[S::lse], c[S::document_starts], shape_.dims.attention);
  else ops::causal_attention_backward(d_qkv, d_out, qkv, out, c[S::lse], shape_.dims.attention);
}

void Attention::forward(BlockContext& c) {
  forward_norm(c);
  const std::int64_t past = shape_.past(), rows = shape_.rows();
  if (c.writes(S::qkv)) ops::linear(by_row(c[S::qkv]).narrow(0, past, rows), c[S::normed], c.tensor(S::parameters, P::c_attn_weight), c.tensor(S::parameters, P::c_attn_bias));
  if (c.writes(S::attention_out) || c.writes(S::lse)) attend(c);
  if (c.writes(S::branch_out)) ops::linear(c[S::branch_out], by_row(c[S::attention_out]), c.tensor(S::parameters, P::c_proj_weight));
}

void Attention::backward(BlockContext& c) {
  const at::Tensor attention_out = by_row(c[S::attention_out]), d_qkv = by_row(c[S::d_qkv]);
  const at::Tensor& d_attention_out = c[S::d_normed];   // dead before d_normed is written
  backward_linear(c, P::c_proj_weight, -1, d_branch(c), attention_out);
  ops::linear_backward_input(d_attention_out, d_branch(c), c.tensor(S::parameters, P::c_proj_weight));
  attend_backward(c, d_attention_out.view(c[S::attention_out].sizes()));
  backward_linear(c, P::c_attn_weight, P::c_attn_bias, d_qkv, c[S::normed]);
  ops::linear_backward_input(c[S::d_normed], d_qkv, c.tensor(S::parameters, P::c_attn_weight));
  backward_norm(c);
}

}  // namespace trainx::model::gpt2
