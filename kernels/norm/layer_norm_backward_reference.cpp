#include "kernels/norm/layer_norm_backward.hpp"
#include "kernels/random/dropout_reference.hpp"
#include <vector>

namespace trainx::kernels {
namespace {

void put(float* to, const std::vector<double>& sums, bool accumulate) {
  for (std::size_t c = 0; c < sums.size(); ++c)
    to[c] = static_cast<float>(accumulate ? to[c] + sums[c] : sums[c]);
}

// In double precision; what is rounded to T is rounded as the kernel does.
template <class T>
void rows(const LayerNormBackward<T>& op, const FusedDropout& dropout) {
  const auto columns = static_cast<std::size_t>(op.columns);
  std::vector<double> gamma_sums(columns), beta_sums(columns), bias_sums(columns);
  for (std::int64_t r = 0; r < op.rows; ++r) {
    const T *dy = op.d_normed + r * op.columns, *x = op.x + r * op.columns;
    const double mean = op.mean[r], rstd = op.rstd[r];
    double sum_g = 0, sum_gz = 0;
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const double g = static_cast<double>(widened(dy[c])) * widened(op.gamma[c]);
      sum_g += g;
      sum_gz += g * (widened(x[c]) - mean) * rstd;
    }
    const double average_g = sum_g / static_cast<double>(op.columns),
                 average_gz = sum_gz / static_cast<double>(op.columns);
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::int64_t i = r * op.columns + c;
      const double d_normed = widened(dy[c]), z = (widened(x[c]) - mean) * rstd;
      const double d = (op.d_residual ? widened(op.d_residual[i]) : 0.0f) +
                       rstd * (d_normed * widened(op.gamma[c]) - average_g - z * average_gz);
      T rounded;
      narrow(static_cast<float>(d), rounded);
      op.dx[i] = rounded;
      if (op.d_branch) {
        if (dropout) narrow(widened(rounded) * dropout_factor(dropout, r, c, op.columns), rounded);
        op.d_branch[i] = rounded;
      }
      gamma_sums[c] += d_normed * z;
      beta_sums[c] += d_normed;
      bias_sums[c] += widened(rounded);
    }
  }
  put(op.d_gamma, gamma_sums, op.accumulate_norm);
  put(op.d_beta, beta_sums, op.accumulate_norm);
  if (op.d_bias) put(op.d_bias, bias_sums, op.accumulate_bias);
}

}  // namespace

void layer_norm_backward_reference(const LayerNormBackward<float>& op,
                                   const FusedDropout& dropout) {
  rows(op, dropout);
}
void layer_norm_backward_reference(const LayerNormBackward<Bf16>& op, const FusedDropout& dropout) {
  rows(op, dropout);
}
void layer_norm_backward_reference(const LayerNormBackward<Fp16>& op, const FusedDropout& dropout) {
  rows(op, dropout);
}

}  // namespace trainx::kernels
