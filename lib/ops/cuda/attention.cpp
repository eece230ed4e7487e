#include "ops/cuda/launch.hpp"

namespace trainx::ops::cuda {
namespace {

gpu::AttentionProblem causal(const Gpu& gpu, const at::Tensor& qkv) {   // [B, T, 3, H, D]
  gpu::AttentionProblem p;
  p.batch = qkv.size(0);
  p.tokens = qkv.size(1);
  p.heads = qkv.size(3);
  p.head_size = qkv.size(4);
  p.dtype = type_of(qkv);
  p.causal = true;
  p.deterministic = gpu.deterministic;
  return p;
}

}  // namespace

void causal_attention(const Gpu& gpu, const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv) {
  gpu.writes(out, lse);
  gpu.attention->forward(causal(gpu, qkv), qkv.const_data_ptr(), nullptr, out.data_ptr(), pointer<float>(lse), gpu.space);
  gpu.done(Work::attention);
}

void causal_attention_backward(const Gpu& gpu, const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse) {
  gpu.writes(d_qkv);
  gpu.attention->backward(causal(gpu, qkv), qkv.const_data_ptr(), nullptr, out.const_data_ptr(), pointer<float>(lse), d_out.const_data_ptr(), d_qkv.data_ptr(), gpu.space);
  gpu.done(Work::attention);
}

}  // namespace trainx::ops::cuda
