#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/random/dropout_reference.hpp"
#include <vector>

namespace trainx::kernels {
namespace {

void put_gradient(float* to, const std::vector<double>& sums, bool accumulate) {
  if (!to) return;
  for (std::size_t c = 0; c < sums.size(); ++c)
    to[c] = static_cast<float>(accumulate ? to[c] + sums[c] : sums[c]);
}

// In double precision; what is rounded to T is rounded as the kernel does.
template <class T>
void rows_backward(const LayerNormBackward<T>& op, const NormForm& form,
                   const FusedDropout& dropout) {
  const auto columns = static_cast<std::size_t>(op.columns);
  std::vector<double> gamma_sums(columns), beta_sums(columns), bias_sums(columns);
  for (std::int64_t r = 0; r < op.rows; ++r) {
    const T *dy = op.d_normed + r * op.columns, *x = op.x + r * op.columns;
    const bool norms = op.d_normed != nullptr;
    const double mean = norms && op.mean ? op.mean[r] : 0, rstd = norms ? op.rstd[r] : 0;
    const auto weight = [&](std::int64_t c) {
      return op.gamma ? widened(op.gamma[c]) + form.weight_offset : 1;
    };
    double sum_g = 0, sum_gz = 0;
    for (std::int64_t c = 0; norms && c < op.columns; ++c) {
      const double g = static_cast<double>(widened(dy[c])) * weight(c);
      sum_g += g;
      sum_gz += g * (widened(x[c]) - mean) * rstd;
    }
    const double average_g = form.rms ? 0 : sum_g / static_cast<double>(op.columns),
                 average_gz = sum_gz / static_cast<double>(op.columns);
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::int64_t i = r * op.columns + c;
      const double d_normed = norms ? widened(dy[c]) : 0,
                   z = norms ? (widened(x[c]) - mean) * rstd : 0;
      double d = op.d_residual ? widened(op.d_residual[i]) : 0.0f;
      if (norms) d += rstd * (d_normed * weight(c) - average_g - z * average_gz);
      T rounded;
      narrow(static_cast<float>(d), rounded);
      op.dx[i] = rounded;
      if (op.d_branch) {
        float b = widened(rounded);
        if (dropout) b *= dropout_factor(dropout, r, c, op.columns);
        if (form.branch_scale != 1) b *= static_cast<float>(form.branch_scale);
        narrow(b, rounded);
        op.d_branch[i] = rounded;
      }
      gamma_sums[c] += d_normed * z;
      beta_sums[c] += d_normed;
      bias_sums[c] += widened(rounded);
    }
  }
  if (op.d_normed) {
    put_gradient(op.d_gamma, gamma_sums, op.accumulate_norm);
    put_gradient(op.d_beta, beta_sums, op.accumulate_norm);
  }
  put_gradient(op.d_bias, bias_sums, op.accumulate_bias);
}

}  // namespace

void layer_norm_backward_reference(const LayerNormBackward<float>& op,
                                   const FusedDropout& dropout) {
  rows_backward(op, {}, dropout);
}
void layer_norm_backward_reference(const LayerNormBackward<Bf16>& op, const FusedDropout& dropout) {
  rows_backward(op, {}, dropout);
}
void layer_norm_backward_reference(const LayerNormBackward<Fp16>& op, const FusedDropout& dropout) {
  rows_backward(op, {}, dropout);
}
template <class T>
void norm_backward_reference(const LayerNormBackward<T>& op, const NormForm& form,
                             const FusedDropout& dropout) {
  rows_backward(op, form, dropout);
}
template void norm_backward_reference(const LayerNormBackward<float>&, const NormForm&,
                                      const FusedDropout&);
template void norm_backward_reference(const LayerNormBackward<Bf16>&, const NormForm&,
                                      const FusedDropout&);
template void norm_backward_reference(const LayerNormBackward<Fp16>&, const NormForm&,
                                      const FusedDropout&);

}  // namespace trainx::kernels
