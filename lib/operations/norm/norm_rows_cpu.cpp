#include "operations/norm/norm_rows.hpp"
#include <cmath>

namespace trainx::operations {

TRAINX_CLONES RowMoments row_moments(const float* x, std::int64_t n, bool rms, double epsilon) {
  const auto count = static_cast<float>(n);
  float mean = 0, squares = 0;
  if (!rms) {
#pragma omp simd reduction(+ : mean)
    for (std::int64_t c = 0; c < n; ++c) mean += x[c];
    mean /= count;
  }
#pragma omp simd reduction(+ : squares)
  for (std::int64_t c = 0; c < n; ++c) squares += (x[c] - mean) * (x[c] - mean);
  return {mean, static_cast<float>(1 / std::sqrt(static_cast<double>(squares / count) + epsilon))};
}

TRAINX_CLONES void norm_row(float* y, const float* x, RowMoments m, const float* weight,
                            const float* shift, std::int64_t n) {
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c)
    y[c] = (x[c] - m.mean) * m.rstd * (weight ? weight[c] : 1.0f) + (shift ? shift[c] : 0.0f);
}

TRAINX_CLONES void norm_row_backward(float* dx, const float* d, const float* x, RowMoments m,
                                     const float* weight, bool rms, std::int64_t n) {
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::int64_t c = 0; c < n; ++c) {
    const float g = d[c] * (weight ? weight[c] : 1.0f);
    sum += g;
    product += g * ((x[c] - m.mean) * m.rstd);
  }
  const auto count = static_cast<float>(n);
  const float average = rms ? 0 : sum / count, slope = product / count;
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) {
    const float g = d[c] * (weight ? weight[c] : 1.0f);
    dx[c] += m.rstd * (g - average - (x[c] - m.mean) * m.rstd * slope);
  }
}

TRAINX_CLONES void add_norm_parameters(float* d_weight, float* d_shift, const float* d,
                                       const float* x, RowMoments m, std::int64_t n) {
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c) {
    d_weight[c] += d[c] * ((x[c] - m.mean) * m.rstd);
    d_shift[c] += d[c];
  }
}

std::vector<float> widened(const Tensor& t, double offset) {
  std::vector<float> out;
  if (!t.defined()) return out;
  out.resize(static_cast<std::size_t>(t.numel()));
  with_element(t, [&]<class T>(T) { read_row(out.data(), data<T>(t), t.numel()); });
  if (offset != 0)
    for (float& v : out) v += static_cast<float>(offset);
  return out;
}

}  // namespace trainx::operations
