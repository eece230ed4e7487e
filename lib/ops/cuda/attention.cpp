#include "ops/cuda/launch.hpp"

namespace trainx::ops::cuda {
namespace {

gpu::AttentionProblem problem_of(const Gpu& gpu, const at::Tensor& qkv) {   // [B, T, 3, H, D]
  gpu::AttentionProblem p;
  p.batch = qkv.size(0);
  p.tokens = qkv.size(1);
  p.heads = qkv.size(3);
  p.head_size = qkv.size(4);
  p.dtype = type_of(qkv);
  p.deterministic = gpu.deterministic;
  p.tf32 = gpu.tf32 && p.dtype == DType::f32;
  return p;
}

gpu::AttentionProblem causal(const Gpu& gpu, const at::Tensor& qkv) {
  gpu::AttentionProblem p = problem_of(gpu, qkv);
  p.causal = true;
  return p;
}

// Without padding there is nothing to leave out, and the kernels that look at no lengths are faster.
gpu::AttentionProblem bidirectional(const Gpu& gpu, const at::Tensor& qkv) {
  gpu::AttentionProblem p = problem_of(gpu, qkv);
  p.padded = gpu.needs.padded;
  return p;
}

const std::int32_t* lengths_of(const Gpu& gpu, const at::Tensor& lengths) { return gpu.needs.padded ? pointer<std::int32_t>(lengths) : nullptr; }

}  // namespace

void causal_attention(const Gpu& gpu, const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv) {
  gpu.attention->forward(causal(gpu, qkv), qkv.const_data_ptr(), nullptr, out.data_ptr(), pointer<float>(lse), gpu.space);
  gpu.done(Work::attention);
}

void causal_attention_backward(const Gpu& gpu, const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse) {
  gpu.attention->backward(causal(gpu, qkv), qkv.const_data_ptr(), nullptr, out.const_data_ptr(), pointer<float>(lse), d_out.const_data_ptr(), d_qkv.data_ptr(), gpu.space);
  gpu.done(Work::attention);
}

void bidirectional_attention(const Gpu& gpu, const at::Tensor& out, const at::Tensor& lse, const at::Tensor& qkv, const at::Tensor& lengths) {
  gpu.attention->forward(bidirectional(gpu, qkv), qkv.const_data_ptr(), lengths_of(gpu, lengths), out.data_ptr(), pointer<float>(lse), gpu.space);
  gpu.done(Work::attention);
}

void bidirectional_attention_backward(const Gpu& gpu, const at::Tensor& d_qkv, const at::Tensor& d_out, const at::Tensor& qkv, const at::Tensor& out, const at::Tensor& lse,
                                      const at::Tensor& lengths) {
  gpu.attention->backward(bidirectional(gpu, qkv), qkv.const_data_ptr(), lengths_of(gpu, lengths), out.const_data_ptr(), pointer<float>(lse), d_out.const_data_ptr(),
                          d_qkv.data_ptr(), gpu.space);
  gpu.done(Work::attention);
}

}  // namespace trainx::ops::cuda
