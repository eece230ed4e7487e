#include "kernels/attention/cached_attention.hpp"
#include "operations/attention/attention_backends.hpp"
#include "operations/attention/attention_spec.hpp"
#include "operations/common/launch.hpp"

namespace trainx::operations::cuda {
namespace {

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
  return p;
}

const std::int32_t* seen_by(const gpu::AttentionProblem& p, const Tensor& seen) {
  return p.padded || p.documents ? pointer<std::int32_t>(seen) : nullptr;
}

void cached(const Gpu& gpu, const Attention& a, const Tensor& out, const Tensor& qkv) {
  const kernels::CachedAttentionSize size{
      qkv.size(0) - out.size(0), out.size(0), a.query_heads, a.head_size,
      a.key_value_heads,         a.window,    a.scale,       a.soft_cap};
  with_kernel_element(qkv, [&]<class T>(T) {
    gpu::require(
        kernels::cached_attention(pointer<T>(qkv), pointer<T>(out), size, gpu.space.stream),
        "attention over a cache");
  });
}

}  // namespace

void grouped_attention(const Gpu& gpu, const Attention& a, const Tensor& out, const Tensor& lse,
                       const AttentionInputs& in) {
  const gpu::AttentionProblem p = problem_of(gpu, a, in, out.size(0));
  if (in.qkv.size(0) > out.size(0))
    cached(gpu, a, out, in.qkv);
  else
    gpu.attention->forward(p, in.qkv.data, seen_by(p, in.seen), out.data, pointer<float>(lse),
                           gpu.space, fused(in.dropout));
  gpu.done(Work::attention);
}

void grouped_attention_backward(const Gpu& gpu, const Attention& a, const AttentionGradients& to,
                                const Tensor& d_out, const AttentionInputs& in, const Tensor& out,
                                const Tensor& lse) {
  const gpu::AttentionProblem p = problem_of(gpu, a, in, in.qkv.size(0));
  gpu.attention->backward(p, in.qkv.data, seen_by(p, in.seen), out.data, pointer<float>(lse),
                          d_out.data, to.qkv.data, gpu.space, fused(in.dropout));
  gpu.done(Work::attention);
}

}  // namespace trainx::operations::cuda
