#include "kernels/attention/cached_attention.hpp"
#include "kernels/reduce/column_sum.hpp"
#include "operations/common/launch.hpp"
#include "operations/attention/attention.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/column_sum/column_sum_backends.hpp"
#include "operations/attention/math_attention.hpp"
#include "operations/attention/torch_attention.hpp"
#include "tensor/torch_view.hpp"

namespace trainx::operations::cuda {
namespace {

gpu::AttentionProblem problem_of(const Gpu& gpu, const Tensor& qkv,
                                 AttentionKind kind) {  // [B, T, 3, H, D]
  gpu::AttentionProblem p;
  p.batch = qkv.size(0);
  p.tokens = qkv.size(1);
  p.heads = qkv.size(3);
  p.head_size = qkv.size(4);
  p.dtype = qkv.dtype;
  p.deterministic = gpu.deterministic;
  p.tf32 = gpu.tf32 && p.dtype == DType::f32;
  if (kind == AttentionKind::automatic) p.compute_capability = gpu.attention->compute_capability();
  return p;
}

gpu::AttentionProblem causal(const Gpu& gpu, const Tensor& qkv, AttentionKind kind) {
  gpu::AttentionProblem p = problem_of(gpu, qkv, kind);
  p.causal = true;
  return p;
}

// Without padding there is nothing to leave out, and the kernels that look at no lengths are
// faster.
gpu::AttentionProblem bidirectional(const Gpu& gpu, const Tensor& qkv, AttentionKind kind) {
  gpu::AttentionProblem p = problem_of(gpu, qkv, kind);
  p.padded = gpu.needs.padded;
  return p;
}

gpu::AttentionProblem documents(const Gpu& gpu, const Tensor& qkv, AttentionKind kind) {
  gpu::AttentionProblem p = causal(gpu, qkv, kind);
  p.documents = true;
  return p;
}

const std::int32_t* lengths_of(const Gpu& gpu, const Tensor& lengths) {
  return gpu.needs.padded ? pointer<std::int32_t>(lengths) : nullptr;
}

/// Of bidirectional attention, where it matters.
at::Tensor lengths_seen(const Gpu& gpu, const Tensor& lengths) {
  return gpu.needs.padded ? tensor::torch_view(lengths) : at::Tensor();
}

void require_kind(AttentionKind kind, const gpu::AttentionProblem& p) {
  if (kind == AttentionKind::cudnn && gpu::path_of(p) != gpu::AttentionPath::cudnn)
    throw InternalError("attention " + gpu::describe(p) + " is none of cuDNN's");
}

void forward(const Gpu& gpu, const gpu::AttentionProblem& p, AttentionKind kind, const Tensor& out,
             const Tensor& lse, const Tensor& qkv, const std::int32_t* seen) {
  require_kind(kind, p);
  gpu.attention->forward(p, {qkv.data, seen}, out.data, pointer<float>(lse), gpu.space);
}

void backward(const Gpu& gpu, const gpu::AttentionProblem& p, AttentionKind kind,
              const Tensor& d_qkv, const Tensor& d_out, const Tensor& qkv, const Tensor& out,
              const Tensor& lse, const std::int32_t* seen) {
  require_kind(kind, p);
  gpu.attention->backward(p, {qkv.data, seen}, out.data, pointer<float>(lse), d_out.data,
                          {d_qkv.data}, gpu.space);
}

/// By kernels that sum the columns of what they write, or by one that reads it again.
gpu::AttentionProblem with_sums(gpu::AttentionProblem p, AttentionKind kind,
                                const BiasGradient& bias) {
  p.column_sums = bias.sum.defined() && !is_torch(kind) && gpu::can_sum_columns(p);
  return p;
}
void add_up(const Gpu& gpu, const gpu::AttentionProblem& p, const BiasGradient& bias,
            const Tensor& d_qkv) {
  if (!bias.sum.defined()) return;
  if (!p.column_sums)
    return column_sum(gpu, bias.sum, d_qkv.view({-1, bias.sum.numel()}), bias.accumulate);
  const gpu::AttentionColumnSums sums = gpu::column_sums_in(gpu.space.workspace, p);
  const std::int64_t columns = p.heads * p.head_size;
  const kernels::ColumnSumOfTwo op{{sums.query_slabs, sums.key_slabs},
                                   {columns, 2 * columns},
                                   {sums.queries, sums.keys_values},
                                   pointer<float>(bias.sum),
                                   bias.accumulate};
  gpu::require(kernels::column_sum(op, gpu.fold, gpu.space.stream), "column sum");
  gpu.done(Work::sum);
}

}  // namespace

void causal_attention(const Gpu& gpu, const Tensor& out, const Tensor& lse, const Tensor& qkv,
                      AttentionKind kind) {
  if (is_torch(kind))
    torch_attention(gpu, kind, out, lse, qkv, {.causal = true});
  else
    forward(gpu, causal(gpu, qkv, kind), kind, out, lse, qkv, nullptr);
  gpu.done(Work::attention);
}

void causal_attention_backward(const Gpu& gpu, const Tensor& d_qkv, const Tensor& d_out,
                               const Tensor& qkv, const Tensor& out, const Tensor& lse,
                               AttentionKind kind, const BiasGradient& bias) {
  const gpu::AttentionProblem p = with_sums(causal(gpu, qkv, kind), kind, bias);
  if (is_torch(kind))
    torch_attention_backward(gpu, kind, d_qkv, d_out, qkv, out, lse, {.causal = true});
  else
    backward(gpu, p, kind, d_qkv, d_out, qkv, out, lse, nullptr);
  gpu.done(Work::attention);
  add_up(gpu, p, bias, d_qkv);
}

void cached_attention(const Gpu& gpu, const Tensor& out, const Tensor& qkv) {
  const kernels::CachedAttentionSize size{qkv.size(0) - out.size(0), out.size(0), qkv.size(2),
                                          qkv.size(3)};
  with_kernel_element(qkv, [&]<class T>(T) {
    gpu::require(
        kernels::cached_attention(pointer<T>(qkv), pointer<T>(out), size, gpu.space.stream),
        "attention over a cache");
  });
  gpu.done(Work::attention);
}

void bidirectional_attention(const Gpu& gpu, const Tensor& out, const Tensor& lse,
                             const Tensor& qkv, const Tensor& lengths, AttentionKind kind) {
  if (is_torch(kind))
    torch_attention(gpu, kind, out, lse, qkv, {.lengths = lengths_seen(gpu, lengths)});
  else
    forward(gpu, bidirectional(gpu, qkv, kind), kind, out, lse, qkv, lengths_of(gpu, lengths));
  gpu.done(Work::attention);
}

void bidirectional_attention_backward(const Gpu& gpu, const Tensor& d_qkv, const Tensor& d_out,
                                      const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                      const Tensor& lengths, AttentionKind kind,
                                      const BiasGradient& bias) {
  const gpu::AttentionProblem p = with_sums(bidirectional(gpu, qkv, kind), kind, bias);
  if (is_torch(kind))
    torch_attention_backward(gpu, kind, d_qkv, d_out, qkv, out, lse,
                             {.lengths = lengths_seen(gpu, lengths)});
  else
    backward(gpu, p, kind, d_qkv, d_out, qkv, out, lse, lengths_of(gpu, lengths));
  gpu.done(Work::attention);
  add_up(gpu, p, bias, d_qkv);
}

void document_attention(const Gpu& gpu, const Tensor& out, const Tensor& lse, const Tensor& qkv,
                        const Tensor& starts, AttentionKind kind) {
  if (is_torch(kind))
    torch_attention(gpu, kind, out, lse, qkv,
                    {.causal = true, .starts = tensor::torch_view(starts)});
  else
    forward(gpu, documents(gpu, qkv, kind), kind, out, lse, qkv, pointer<std::int32_t>(starts));
  gpu.done(Work::attention);
}

void document_attention_backward(const Gpu& gpu, const Tensor& d_qkv, const Tensor& d_out,
                                 const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                 const Tensor& starts, AttentionKind kind) {
  if (is_torch(kind))
    torch_attention_backward(gpu, kind, d_qkv, d_out, qkv, out, lse,
                             {.causal = true, .starts = tensor::torch_view(starts)});
  else
    backward(gpu, documents(gpu, qkv, kind), kind, d_qkv, d_out, qkv, out, lse,
             pointer<std::int32_t>(starts));
  gpu.done(Work::attention);
}

}  // namespace trainx::operations::cuda
