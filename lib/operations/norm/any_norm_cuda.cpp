#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/norm/residual_layer_norm.hpp"
#include "operations/common/launch.hpp"
#include "operations/norm/norm_backends.hpp"

namespace trainx::operations::cuda {
namespace {

kernels::NormForm kernel_form(const NormForm& form) {
  return {form.rms, form.weight_offset, form.branch_scale};
}

}  // namespace

void any_norm(const Gpu& gpu, const NormForm& form, const NormedSum& to, const Tensor& residual,
              const Tensor& branch, const Tensor& bias, const Tensor& weight, const Tensor& shift,
              const Dropout& dropout, const Tensor& rows) {
  with_kernel_element(to.sum, [&]<class T>(T) {
    kernels::ResidualLayerNorm<T> op;
    op.rows = to.sum.size(0);
    op.columns = to.sum.numel() / op.rows;
    op.residual_in = pointer<T>(residual);
    op.branch = pointer<T>(branch);
    op.bias = pointer<T>(bias);
    op.residual_out = pointer<T>(to.sum);
    op.mean = to.keep_statistics ? pointer<float>(to.mean) : nullptr;
    op.rstd = to.keep_statistics ? pointer<float>(to.rstd) : nullptr;
    op.gamma = pointer<T>(weight);
    op.beta = pointer<T>(shift);
    op.normed = pointer<T>(to.normed);
    op.epsilon = form.epsilon;
    op.source_rows = pointer<std::int64_t>(rows);
    gpu::require(kernels::residual_norm(op, kernel_form(form), fused(dropout), gpu.space.stream),
                 "residual + norm");
  });
  gpu.done(Work::norm);
}

void any_norm_backward(const Gpu& gpu, const NormForm& form, const NormedSumGradients& to,
                       const Tensor& d_sum, const Tensor& d_normed, const Tensor& sum,
                       const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                       const Dropout& dropout) {
  with_kernel_element(to.dx, [&]<class T>(T) {
    kernels::LayerNormBackward<T> op;
    op.rows = to.dx.size(0);
    op.columns = to.dx.size(1);
    op.d_normed = pointer<T>(d_normed);
    op.x = pointer<T>(sum);
    op.mean = pointer<float>(mean);
    op.rstd = pointer<float>(rstd);
    op.gamma = pointer<T>(weight);
    op.d_residual = pointer<T>(d_sum);
    op.dx = pointer<T>(to.dx);
    // a branch that is neither dropped nor scaled may have the sum's gradient itself
    if (to.d_branch.defined() && to.d_branch.data != to.dx.data)
      op.d_branch = pointer<T>(to.d_branch);
    op.d_gamma = pointer<float>(to.d_weight);
    op.d_beta = pointer<float>(to.d_shift);
    op.d_bias = pointer<float>(to.d_bias);
    op.accumulate_norm = op.accumulate_bias = to.accumulate;
    kernels::NormForm k = kernel_form(form);
    if (!to.d_branch.defined()) k.branch_scale = 1;  // nothing was added
    gpu::require(kernels::norm_backward(op, k, fused(dropout), gpu.fold, gpu.space.stream),
                 "norm backward");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
