#include "math_attention.hpp"
#include "operations/common/gpu.hpp"
#include "operations/common/gpu_scope.hpp"
#include "operations/linear/linear.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <c10/cuda/CUDAGuard.h>
#include <cmath>
#include <limits>

namespace trainx::train::test {

using S = spec::AttentionSlot;
using P = spec::AttentionTensor;

namespace {

const at::Device device(at::kCUDA, 0);

/// LibTorch's own operations go where the step's do.
c10::cuda::CUDAStreamGuard on_stream_of_step() {
  return c10::cuda::CUDAStreamGuard(
      c10::cuda::getStreamFromExternal(operations::current_gpu()->space.stream, device.index()));
}

Tensor by_row(const Tensor& x, const model::gpt2::Shape& shape) {
  return x.view({shape.rows(), -1});
}

/// A block's operand [N, ..., D] as [B, H, T, D]; of queries, keys and values the one at `part`.
at::Tensor heads(const Tensor& x, const model::gpt2::Shape& shape, std::int64_t part = 0) {
  const std::int64_t parts = x.numel() / (shape.rows() * shape.dims.hidden_size);
  return tensor::torch_view(
             x.view({shape.batch, shape.length, parts, shape.dims.num_heads, shape.head_size()}))
      .select(2, part)
      .transpose(1, 2);
}

at::Tensor probabilities(const at::Tensor& q, const at::Tensor& k) {  // [B, H, T, T]
  const at::Tensor later = at::ones({q.size(2), q.size(2)}, q.options().dtype(at::kBool)).triu(1);
  const at::Tensor scores = q.matmul(k.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  return scores.masked_fill(later, -std::numeric_limits<double>::infinity()).softmax(-1);
}

}  // namespace

MathAttention::MathAttention(const model::gpt2::Shape& shape, bool first)
    : Sublayer(shape, {S::residual_in, S::branch_in, S::d_residual_in, S::d_branch_in, P::ln_weight,
                       P::ln_bias, P::pending_bias, first}) {}

void MathAttention::forward(model::BlockContext& c) {
  forward_norm(c);
  if (c.writes(S::qkv))
    operations::linear(by_row(c[S::qkv], shape_), c[S::normed],
                       c.tensor(S::parameters, P::c_attn_weight),
                       c.tensor(S::parameters, P::c_attn_bias));
  if (c.writes(S::attention_out)) {
    const auto guard = on_stream_of_step();
    const at::Tensor q = heads(c[S::qkv], shape_, 0), k = heads(c[S::qkv], shape_, 1),
                     v = heads(c[S::qkv], shape_, 2);
    heads(c[S::attention_out], shape_).copy_(probabilities(q, k).matmul(v));
  }
  if (c.writes(S::branch_out))
    operations::linear(c[S::branch_out], by_row(c[S::attention_out], shape_),
                       c.tensor(S::parameters, P::c_proj_weight));
}

void MathAttention::backward(model::BlockContext& c) {
  const Tensor d_qkv = by_row(c[S::d_qkv], shape_);
  const Tensor& d_attention_out = c[S::d_normed];  // dead before d_normed is written
  backward_linear(c, P::c_proj_weight, -1, d_branch(c), by_row(c[S::attention_out], shape_));
  operations::linear_backward_input(d_attention_out, d_branch(c),
                                    c.tensor(S::parameters, P::c_proj_weight));
  {
    const auto guard = on_stream_of_step();
    const at::Tensor q = heads(c[S::qkv], shape_, 0), k = heads(c[S::qkv], shape_, 1),
                     v = heads(c[S::qkv], shape_, 2), d_out = heads(d_attention_out, shape_);
    const at::Tensor p = probabilities(q, k), d_p = d_out.matmul(v.transpose(2, 3));
    const at::Tensor d_scores = p * (d_p - (p * d_p).sum(-1, true)) /
                                std::sqrt(static_cast<double>(q.size(3)));
    heads(c[S::d_qkv], shape_, 0).copy_(d_scores.matmul(k));
    heads(c[S::d_qkv], shape_, 1).copy_(d_scores.transpose(2, 3).matmul(q));
    heads(c[S::d_qkv], shape_, 2).copy_(p.transpose(2, 3).matmul(d_out));
  }
  backward_linear(c, P::c_attn_weight, P::c_attn_bias, d_qkv, c[S::normed]);
  operations::linear_backward_input(c[S::d_normed], d_qkv,
                                    c.tensor(S::parameters, P::c_attn_weight));
  backward_norm(c);
}

}  // namespace trainx::train::test
