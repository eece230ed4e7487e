#include "math_attention.hpp"
#include "operations/common/gpu.hpp"
#include "operations/common/gpu_scope.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <c10/cuda/CUDAGuard.h>
#include <cmath>
#include <limits>

namespace trainx::train::test {

using operations::Attention;

namespace {

const at::Device device(at::kCUDA, 0);

/// LibTorch's own operations go where the step's do.
c10::cuda::CUDAStreamGuard on_stream_of_step() {
  return c10::cuda::CUDAStreamGuard(
      c10::cuda::getStreamFromExternal(operations::current_gpu()->space.stream, device.index()));
}

/// An operand [N, ..., D] as [B, H, T, D]; of queries, keys and values the one at `part`.
at::Tensor heads(const Tensor& x, const Attention& a, std::int64_t part = 0) {
  const std::int64_t parts = x.numel() / (a.batch * a.length * a.query_heads * a.head_size);
  return tensor::torch_view(x.view({a.batch, a.length, parts, a.query_heads, a.head_size}))
      .select(2, part)
      .transpose(1, 2);
}

at::Tensor probabilities(const at::Tensor& q, const at::Tensor& k) {  // [B, H, T, T]
  const at::Tensor later = at::ones({q.size(2), q.size(2)}, q.options().dtype(at::kBool)).triu(1);
  const at::Tensor scores = q.matmul(k.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  return scores.masked_fill(later, -std::numeric_limits<double>::infinity()).softmax(-1);
}

}  // namespace

void MathAttention::run_forward(const operations::BoundOp& op,
                                const operations::OpContext& c) const {
  const auto* a = std::get_if<Attention>(&op.operation);
  if (!a) return ComposedBlock::run_forward(op, c);
  if (!c.writes(Attention::out)) return;
  const auto guard = on_stream_of_step();
  const Tensor qkv = c.input(Attention::qkv);
  const at::Tensor q = heads(qkv, *a, 0), k = heads(qkv, *a, 1), v = heads(qkv, *a, 2);
  heads(c.output(Attention::out), *a).copy_(probabilities(q, k).matmul(v));
}

void MathAttention::run_backward(const operations::BoundOp& op,
                                 const operations::OpContext& c) const {
  const auto* a = std::get_if<Attention>(&op.operation);
  if (!a) return ComposedBlock::run_backward(op, c);
  const auto guard = on_stream_of_step();
  const Tensor qkv = c.input(Attention::qkv), d_qkv = c.input_gradient(Attention::qkv);
  const at::Tensor q = heads(qkv, *a, 0), k = heads(qkv, *a, 1), v = heads(qkv, *a, 2),
                   d_out = heads(c.output_gradient(Attention::out), *a);
  const at::Tensor p = probabilities(q, k), d_p = d_out.matmul(v.transpose(2, 3));
  const at::Tensor d_scores = p * (d_p - (p * d_p).sum(-1, true)) /
                              std::sqrt(static_cast<double>(q.size(3)));
  heads(d_qkv, *a, 0).copy_(d_scores.matmul(k));
  heads(d_qkv, *a, 1).copy_(d_scores.transpose(2, 3).matmul(q));
  heads(d_qkv, *a, 2).copy_(p.transpose(2, 3).matmul(d_out));
}

}  // namespace trainx::train::test
