#include "kernels/norm/residual_layer_norm.hpp"
#include "kernels/random/dropout_reference.hpp"
#include <algorithm>
#include <vector>

namespace trainx::kernels {
namespace {

struct Statistics {
  double mean, rstd;
};
Statistics statistics(const std::vector<float>& x, double epsilon, bool rms) {
  double sum = 0, squares = 0;
  for (const float f : x) sum += f;
  const double n = static_cast<double>(x.size()), mean = rms ? 0 : sum / n;
  for (const float f : x) squares += (f - mean) * (f - mean);
  return {mean, 1 / std::sqrt(squares / n + epsilon)};
}

// The sum in fp32 as the kernel rounds it; the norms in double.
template <class T>
void rows(const ResidualLayerNorm<T>& op, const NormForm& form, const FusedDropout& dropout) {
  const T* const base = op.residual_in ? op.residual_in : op.residual_out;
  std::vector<float> x(static_cast<std::size_t>(op.columns));
  for (std::int64_t r = 0; r < op.rows; ++r) {
    const std::int64_t source = op.source_rows ? std::max<std::int64_t>(op.source_rows[r], 0) : r;
    for (std::int64_t c = 0; c < op.columns; ++c) x[c] = widened(base[source * op.columns + c]);
    if (op.gamma_before) {
      const Statistics s = statistics(x, op.epsilon, false);
      for (std::int64_t c = 0; c < op.columns; ++c)
        x[c] = static_cast<float>((x[c] - s.mean) * s.rstd * widened(op.gamma_before[c]) +
                                  widened(op.beta_before[c]));
    }
    for (std::int64_t c = 0; c < op.columns; ++c) {
      if (op.branch) {
        float b = widened(op.branch[source * op.columns + c]);
        if (op.bias) b += widened(op.bias[c]);
        if (dropout) b *= dropout_factor(dropout, source, c, op.columns);
        if (form.branch_scale != 1) b *= static_cast<float>(form.branch_scale);
        x[c] += b;
      }
      T rounded;
      narrow(x[c], rounded);
      if (op.residual_out && op.residual_in) op.residual_out[r * op.columns + c] = rounded;
      x[c] = widened(rounded);
    }
    const Statistics s = statistics(x, op.epsilon, form.rms);
    if (op.mean) op.mean[r] = static_cast<float>(s.mean);
    if (op.rstd) op.rstd[r] = static_cast<float>(s.rstd);
    if (!op.normed) continue;
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const double weight = op.gamma ? widened(op.gamma[c]) + form.weight_offset : 1,
                   shift = op.beta ? widened(op.beta[c]) : 0;
      narrow(static_cast<float>((x[c] - s.mean) * s.rstd * weight + shift),
             op.normed[r * op.columns + c]);
    }
  }
}

}  // namespace

void residual_layer_norm_reference(const ResidualLayerNorm<float>& op,
                                   const FusedDropout& dropout) {
  rows(op, {}, dropout);
}
void residual_layer_norm_reference(const ResidualLayerNorm<Bf16>& op, const FusedDropout& dropout) {
  rows(op, {}, dropout);
}
void residual_layer_norm_reference(const ResidualLayerNorm<Fp16>& op, const FusedDropout& dropout) {
  rows(op, {}, dropout);
}
template <class T>
void residual_norm_reference(const ResidualLayerNorm<T>& op, const NormForm& form,
                             const FusedDropout& dropout) {
  rows(op, form, dropout);
}
template void residual_norm_reference(const ResidualLayerNorm<float>&, const NormForm&,
                                      const FusedDropout&);
template void residual_norm_reference(const ResidualLayerNorm<Bf16>&, const NormForm&,
                                      const FusedDropout&);
template void residual_norm_reference(const ResidualLayerNorm<Fp16>&, const NormForm&,
                                      const FusedDropout&);

}  // namespace trainx::kernels
