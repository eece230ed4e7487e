#include "operations/attention/attention_backends.hpp"
#include "operations/attention/attention_spec.hpp"
#include "operations/attention/grouped_attention.hpp"
#include "operations/common/launch.hpp"
#include <algorithm>
#include <limits>

namespace trainx::operations::cuda {
namespace {

bool is_biased_by_distance(const Attention& a) { return a.alibi || a.bias.buckets > 0; }

/// `rows`: of all samples.
gpu::AttentionProblem problem_of(const Gpu& gpu, const Attention& a, const AttentionInputs& in,
                                 std::int64_t rows) {
  if (a.kind != AttentionKind::automatic || !a.has_gpu_kernel({}))
    throw InternalError("grouped attention of another kind or with these attributes has no kernel");
  gpu::AttentionProblem p;
  p.batch = a.batch;
  p.tokens = rows / a.batch;
  p.heads = a.query_heads;
  p.head_size = a.head_size;
  p.dtype = in.qkv.dtype;
  p.causal = a.mask != AttentionMask::lengths;
  // where nothing is padded there is nothing to leave out
  p.padded = a.mask == AttentionMask::lengths && gpu.needs.padded;
  p.deterministic = gpu.deterministic;
  p.tf32 = gpu.tf32 && p.dtype == DType::f32;
  p.documents = a.mask == AttentionMask::documents;
  p.key_value_heads = a.key_value_heads;
  p.window = a.window;
  p.scale = a.scale;
  p.soft_cap = a.soft_cap;
  p.dropped = static_cast<bool>(in.dropout);  // an evaluation drops nothing
  p.biased = a.has_sinks || is_biased_by_distance(a);
  p.sinks_alone = a.has_sinks && !is_biased_by_distance(a);
  p.memory_tokens = a.memory_length;
  p.value_size = a.values() == a.head_size ? 0 : a.values();
  p.compute_capability = gpu.attention->compute_capability();
  return p;
}

/// Where each bucket of a side begins, as RelativeBias rounds it.
kernels::DistanceBuckets buckets_of(const Attention& a, std::int64_t tokens) {
  kernels::DistanceBuckets to;
  if (a.bias.buckets == 0) return to;
  to.count = static_cast<int>(a.bias.buckets);
  to.both_sides = a.bias.both_sides;
  std::ranges::fill(to.from, std::numeric_limits<std::int32_t>::max());
  // from the farthest before a query to itself
  const std::vector<std::int32_t> buckets =
      a.bias.buckets_of(1 - tokens, static_cast<std::size_t>(tokens));
  for (std::int64_t i = 0; i < tokens; ++i)
    to.from[buckets[static_cast<std::size_t>(i)]] = static_cast<std::int32_t>(tokens - 1 - i);
  for (int b = to.of_side() - 2; b >= 0; --b) to.from[b] = std::min(to.from[b], to.from[b + 1]);
  return to;
}

/// Null: there is no table.
void* at_first_column(const Attention& a, const Tensor& table) {
  if (!table.defined()) return nullptr;
  return static_cast<std::byte*>(table.data) + first_bias_column(a, table) * size_of(table.dtype);
}

gpu::AttentionInputs inputs_of(const gpu::AttentionProblem& p, const Attention& a,
                               const AttentionInputs& in) {
  return {in.qkv.data,
          p.padded || p.documents ? pointer<std::int32_t>(in.seen) : nullptr,
          fused(in.dropout),
          in.memory.data,
          buckets_of(a, p.tokens),
          at_first_column(a, in.biases),
          a.alibi,
          in.sinks.data,
          a.first_head,
          a.heads_of_layer,
          in.biases.defined() ? in.biases.size(1) : 0};
}

gpu::AttentionGradients::Parameter parameter(const AttentionGradients::Parameter& p) {
  return {p.sum.defined() ? pointer<float>(p.sum) : nullptr, p.accumulate};
}

}  // namespace

void grouped_attention(const Gpu& gpu, const Attention& a, const Tensor& out, const Tensor& lse,
                       const AttentionInputs& in) {
  const bool cached = a.memory_length == 0 && in.qkv.size(0) > out.size(0);
  const gpu::AttentionProblem p = problem_of(gpu, a, in, cached ? in.qkv.size(0) : out.size(0));
  if (cached)
    gpu.attention->cached(p, inputs_of(p, a, in), out.data, out.size(0), gpu.space);
  else
    gpu.attention->forward(p, inputs_of(p, a, in), out.data, pointer<float>(lse), gpu.space);
  gpu.done(Work::attention);
}

void grouped_attention_backward(const Gpu& gpu, const Attention& a, const AttentionGradients& to,
                                const Tensor& d_out, const AttentionInputs& in, const Tensor& out,
                                const Tensor& lse) {
  const gpu::AttentionProblem p = problem_of(gpu, a, in, in.qkv.size(0));
  gpu.attention->backward(
      p, inputs_of(p, a, in), out.data, pointer<float>(lse), d_out.data,
      {to.qkv.data,
       to.memory.data,
       {static_cast<float*>(at_first_column(a, to.biases.sum)), to.biases.accumulate},
       parameter(to.sinks)},
      gpu.space);
  gpu.done(Work::attention);
}

}  // namespace trainx::operations::cuda
