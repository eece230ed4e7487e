#include "operations/column_sum/column_sum.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/norm/norm_backends.hpp"
#include <ATen/Parallel.h>
#include <cmath>
#include <vector>

namespace trainx::operations {

namespace {

struct RowMoments {
  float mean, rstd;
};

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

/// y = (x - mean) * rstd * weight + shift; null: 1, 0.
TRAINX_CLONES void norm_row(float* y, const float* x, RowMoments m, const float* weight,
                            const float* shift, std::int64_t n) {
#pragma omp simd
  for (std::int64_t c = 0; c < n; ++c)
    y[c] = (x[c] - m.mean) * m.rstd * (weight ? weight[c] : 1.0f) + (shift ? shift[c] : 0.0f);
}

/// dx += what d brings through the norm of x.
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

template <class T>
void read(float* to, const T* from, std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) to[c] = load(from[c]);
}
template <class T>
void write(T* to, const float* from, std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) store(to[c], from[c]);
}

/// A parameter in fp32, plus `offset`; empty: it is absent.
std::vector<float> widened(const Tensor& t, double offset = 0) {
  std::vector<float> out;
  if (!t.defined()) return out;
  out.resize(static_cast<std::size_t>(t.numel()));
  with_element(t, [&]<class T>(T) { read(out.data(), data<T>(t), t.numel()); });
  if (offset != 0)
    for (float& v : out) v += static_cast<float>(offset);
  return out;
}
const float* or_null(const std::vector<float>& v) { return v.empty() ? nullptr : v.data(); }

/// Adds branch_scale * dropout(branch + bias) to a row.
template <class T>
void add_branch_row(float* row, const T* branch, const float* bias, const NormForm& form,
                    const Dropout& dropout, std::int64_t r, std::int64_t n, float* factors) {
  if (dropout) dropout_factors(dropout, r, n, 0, n, factors);
  const auto scale = static_cast<float>(form.branch_scale);
  for (std::int64_t c = 0; c < n; ++c) {
    const float v = load(branch[c]) + (bias ? bias[c] : 0.0f);
    row[c] += (dropout ? v * factors[c] : v) * scale;
  }
}

}  // namespace

void cpu::any_norm(const NormForm& form, const NormedSum& to, const Tensor& residual,
                   const Tensor& branch, const Tensor& bias, const Tensor& weight,
                   const Tensor& shift, const Dropout& dropout, const Tensor& picked) {
  const TimedWork timed(Work::norm);
  const std::int64_t rows = to.sum.size(0), n = to.sum.numel() / rows;
  const auto* const from = picked.defined() ? picked.as<const std::int64_t>() : nullptr;
  const std::vector<float> b = widened(bias), w = widened(weight, form.weight_offset),
                           s = widened(shift);
  const bool norms = to.normed.defined() || to.keep_statistics;
  with_element(to.sum, [&]<class T>(T) {
    at::parallel_for(0, rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(n)), out(row), factors(row);
      for (std::int64_t r = begin; r < end; ++r) {
        T* const sum = data<T>(to.sum) + r * n;
        const std::int64_t source = from ? from[r] : r;
        read(row.data(), residual.defined() ? data<T>(residual) + source * n : sum, n);
        if (residual.defined()) {
          add_branch_row(row.data(), data<T>(branch) + source * n, or_null(b), form, dropout,
                         source, n, factors.data());
          write(sum, row.data(), n);
          read(row.data(), sum, n);  // as later readers see it
        }
        if (!norms) continue;
        RowMoments m{};
        if (to.keep_statistics || !to.rstd.defined()) {
          m = row_moments(row.data(), n, form.rms, form.epsilon);
          if (to.rstd.defined()) data<float>(to.rstd)[r] = m.rstd;
          if (to.mean.defined()) data<float>(to.mean)[r] = m.mean;
        } else {
          m = {to.mean.defined() ? data<float>(to.mean)[r] : 0, data<float>(to.rstd)[r]};
        }
        if (!to.normed.defined()) continue;
        norm_row(out.data(), row.data(), m, or_null(w), or_null(s), n);
        write(data<T>(to.normed) + r * n, out.data(), n);
      }
    });
  });
}

namespace {

/// d_weight[C] and d_shift[C] over all rows, columns side by side.
template <class T>
void sum_parameters(const NormedSumGradients& to, const Tensor& d_normed, const Tensor& sum,
                    const Tensor& mean, const Tensor& rstd) {
  constexpr std::int64_t strip = 64;
  const std::int64_t rows = sum.size(0), n = sum.size(1);
  at::parallel_for(0, (n + strip - 1) / strip, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * strip; first < std::min(end * strip, n); first += strip) {
      const std::int64_t width = std::min(strip, n - first);
      float weights[strip] = {}, shifts[strip] = {};
      for (std::int64_t r = 0; r < rows; ++r) {
        const T *const d = data<T>(d_normed) + r * n + first, *const x = data<T>(sum) + r * n +
                                                                         first;
        const float m = mean.defined() ? data<float>(mean)[r] : 0, s = data<float>(rstd)[r];
        for (std::int64_t c = 0; c < width; ++c) {
          weights[c] += load(d[c]) * ((load(x[c]) - m) * s);
          shifts[c] += load(d[c]);
        }
      }
      const auto put = [&](const Tensor& t, const float* sums) {
        if (!t.defined()) return;
        float* const out = data<float>(t) + first;
        for (std::int64_t c = 0; c < width; ++c) out[c] = (to.accumulate ? out[c] : 0) + sums[c];
      };
      put(to.d_weight, weights);
      put(to.d_shift, shifts);
    }
  });
}

}  // namespace

void cpu::any_norm_backward(const NormForm& form, const NormedSumGradients& to, const Tensor& d_sum,
                            const Tensor& d_normed, const Tensor& sum, const Tensor& mean,
                            const Tensor& rstd, const Tensor& weight, const Dropout& dropout) {
  const TimedWork timed(Work::norm);
  const std::int64_t rows = to.dx.size(0), n = to.dx.size(1);
  const std::vector<float> w = widened(weight, form.weight_offset);
  with_element(to.dx, [&]<class T>(T) {
    if (d_normed.defined() && (to.d_weight.defined() || to.d_shift.defined()))
      sum_parameters<T>(to, d_normed, sum, mean, rstd);
    at::parallel_for(0, rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> dx(static_cast<std::size_t>(n)), d(dx), x(dx), factors(dx);
      for (std::int64_t r = begin; r < end; ++r) {
        if (d_sum.defined())
          read(dx.data(), data<T>(d_sum) + r * n, n);
        else
          std::ranges::fill(dx, 0.0f);
        if (d_normed.defined()) {
          read(d.data(), data<T>(d_normed) + r * n, n);
          read(x.data(), data<T>(sum) + r * n, n);
          norm_row_backward(dx.data(), d.data(), x.data(),
                            {mean.defined() ? data<float>(mean)[r] : 0, data<float>(rstd)[r]},
                            or_null(w), form.rms, n);
        }
        write(data<T>(to.dx) + r * n, dx.data(), n);
        if (!to.d_branch.defined()) continue;
        if (dropout) dropout_factors(dropout, r, n, 0, n, factors.data());
        for (std::int64_t c = 0; c < n; ++c)
          dx[static_cast<std::size_t>(c)] *=
              static_cast<float>(form.branch_scale) *
              (dropout ? factors[static_cast<std::size_t>(c)] : 1.0f);
        write(data<T>(to.d_branch) + r * n, dx.data(), n);
      }
    });
  });
  if (to.d_bias.defined())
    column_sum(to.d_bias, to.d_branch.defined() ? to.d_branch : to.dx, to.accumulate);
}

}  // namespace trainx::operations
