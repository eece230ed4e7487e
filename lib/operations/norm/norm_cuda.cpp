#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/norm/residual_layer_norm.hpp"
#include "operations/common/launch.hpp"
#include "operations/norm/norm_backends.hpp"

namespace trainx::operations::cuda {

void add_branch_layer_norm(const Gpu& gpu, const NormedSum& to, const Tensor& residual,
                           const Tensor& branch, const Tensor& bias, const Tensor& weight,
                           const Tensor& shift, double epsilon, const Dropout& dropout,
                           const PendingNorm& before, const Tensor& rows) {
  with_kernel_element(to.sum, [&]<class T>(T) {
    kernels::ResidualLayerNorm<T> op;
    op.rows = to.sum.size(0);
    op.columns = to.sum.size(1);
    op.residual_in = pointer<T>(residual);
    op.branch = pointer<T>(branch);
    op.bias = pointer<T>(bias);
    op.residual_out = pointer<T>(to.sum);
    op.mean = to.keep_statistics ? pointer<float>(to.mean) : nullptr;
    op.rstd = to.keep_statistics ? pointer<float>(to.rstd) : nullptr;
    op.gamma = pointer<T>(weight);
    op.beta = pointer<T>(shift);
    op.normed = pointer<T>(to.normed);
    op.epsilon = epsilon;
    op.gamma_before = pointer<T>(before.weight);
    op.beta_before = pointer<T>(before.bias);
    op.source_rows = pointer<std::int64_t>(rows);
    gpu::require(kernels::residual_layer_norm(op, fused(dropout), gpu.space.stream),
                 "residual + LayerNorm");
  });
  gpu.done(Work::norm);
}

void layer_norm(const Gpu& gpu, const Tensor& normed, const Tensor& x, const Tensor& weight,
                const Tensor& bias, double epsilon) {
  with_kernel_element(x, [&]<class T>(T) {
    kernels::ResidualLayerNorm<T> op;
    op.rows = x.size(0);
    op.columns = x.size(1);
    op.residual_out = pointer<T>(x);  // only read
    op.gamma = pointer<T>(weight);
    op.beta = pointer<T>(bias);
    op.normed = pointer<T>(normed);
    op.epsilon = epsilon;
    gpu::require(kernels::residual_layer_norm(op, {}, gpu.space.stream), "LayerNorm");
  });
  gpu.done(Work::norm);
}

void add_branch_layer_norm_backward(const Gpu& gpu, const NormedSumGradients& to,
                                    const Tensor& d_sum, const Tensor& d_normed, const Tensor& sum,
                                    const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                    const Dropout& dropout) {
  with_kernel_element(sum, [&]<class T>(T) {
    kernels::LayerNormBackward<T> op;
    op.rows = sum.size(0);
    op.columns = sum.size(1);
    op.d_normed = pointer<T>(d_normed);
    op.x = pointer<T>(sum);
    op.mean = pointer<float>(mean);
    op.rstd = pointer<float>(rstd);
    op.gamma = pointer<T>(weight);
    op.d_residual = pointer<T>(d_sum);
    op.dx = pointer<T>(to.dx);
    op.d_branch = dropout ? pointer<T>(to.d_branch) : nullptr;
    op.d_gamma = pointer<float>(to.d_weight);
    op.d_beta = pointer<float>(to.d_shift);
    op.d_bias = pointer<float>(to.d_bias);
    op.accumulate_norm = op.accumulate_bias = to.accumulate;
    gpu::require(kernels::layer_norm_backward(op, fused(dropout), gpu.fold, gpu.space.stream),
                 "LayerNorm backward");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
