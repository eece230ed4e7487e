#include "kernels/norm/head_norm.hpp"
#include "operations/common/launch.hpp"
#include "operations/head_norm/head_norm_backends.hpp"
#include <initializer_list>

namespace trainx::operations::cuda {
namespace {

/// Of the queries' or of the keys' weights, of which some may be absent.
bool has_element_by_column(std::initializer_list<Tensor> weights, std::int64_t group) {
  for (const Tensor& w : weights)
    if (w.defined()) return w.numel() != group;
  return false;
}

kernels::HeadNormShape shape_of(const HeadNorm& n, std::int64_t rows, const HeadNormWeights& w,
                                const HeadNormWeights& gradients = {}) {
  kernels::HeadNormShape s;
  s.rows = rows;
  s.query_heads = n.query_heads;
  s.key_value_heads = n.key_value_heads;
  s.head_size = n.head_size;
  s.whole = n.whole;
  s.rms = n.rms;
  s.epsilon = n.epsilon;
  s.weight_offset = n.weight_offset;
  s.by_column[0] = has_element_by_column({w.query_weight, w.query_bias, gradients.query_bias},
                                         (n.whole ? n.query_heads : 1) * n.head_size);
  s.by_column[1] = has_element_by_column({w.key_weight, w.key_bias, gradients.key_bias},
                                         (n.whole ? n.key_value_heads : 1) * n.head_size);
  return s;
}

}  // namespace

void head_norm(const Gpu& gpu, const HeadNorm& n, const HeadNormed& to, const Tensor& x,
               const HeadNormWeights& weights) {
  with_kernel_element(x, [&]<class T>(T) {
    kernels::HeadNorm<T> op;
    op.shape = shape_of(n, x.size(0), weights);
    op.x = pointer<T>(x);
    op.y = pointer<T>(to.y);
    op.mean = pointer<float>(to.mean);
    op.rstd = pointer<float>(to.rstd);
    op.weight[0] = pointer<T>(weights.query_weight);
    op.weight[1] = pointer<T>(weights.key_weight);
    op.bias[0] = pointer<T>(weights.query_bias);
    op.bias[1] = pointer<T>(weights.key_bias);
    gpu::require(kernels::head_norm(op, gpu.space.stream), "norm of heads");
  });
  gpu.done(Work::norm);
}

void head_norm_backward(const Gpu& gpu, const HeadNorm& n, const Tensor& dx,
                        const HeadNormWeights& gradients, const Tensor& dy, const Tensor& x,
                        const HeadNormed& of, const HeadNormWeights& weights, bool accumulate) {
  with_kernel_element(x, [&]<class T>(T) {
    kernels::HeadNormBackward<T> op;
    op.shape = shape_of(n, x.size(0), weights, gradients);
    op.dy = pointer<T>(dy);
    op.x = pointer<T>(x);
    op.mean = pointer<float>(of.mean);
    op.rstd = pointer<float>(of.rstd);
    op.weight[0] = pointer<T>(weights.query_weight);
    op.weight[1] = pointer<T>(weights.key_weight);
    op.dx = pointer<T>(dx);
    op.d_weight[0] = pointer<float>(gradients.query_weight);
    op.d_weight[1] = pointer<float>(gradients.key_weight);
    op.d_bias[0] = pointer<float>(gradients.query_bias);
    op.d_bias[1] = pointer<float>(gradients.key_bias);
    op.accumulate = accumulate;
    gpu::require(kernels::head_norm_backward(op, gpu.fold, gpu.space.stream),
                 "norm of heads backward");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
