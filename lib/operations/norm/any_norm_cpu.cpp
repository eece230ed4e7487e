#include "operations/column_sum/column_sum.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/norm/norm_backends.hpp"
#include "operations/norm/norm_rows.hpp"
#include "tensor/parallel.hpp"
#include <vector>

namespace trainx::operations {

namespace {

/// Adds branch_scale * dropout(branch + bias) to a row.
template <class T>
void add_branch_row(float* row, const T* branch, const float* bias, const NormForm& form,
                    const Dropout& dropout, std::int64_t r, std::int64_t n, float* factors) {
  const auto scale = static_cast<float>(form.branch_scale);
  if (!dropout && !bias) return add_scaled_row(row, branch, scale, n);
  if (dropout) dropout_factors(dropout, r, n, 0, n, factors);
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
    tensor::parallel_for(0, rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(n)), out(row), factors(row);
      for (std::int64_t r = begin; r < end; ++r) {
        T* const sum = data<T>(to.sum) + r * n;
        const std::int64_t source = from ? from[r] : r;
        read_row(row.data(), residual.defined() ? data<T>(residual) + source * n : sum, n);
        if (residual.defined()) {
          add_branch_row(row.data(), data<T>(branch) + source * n, or_null(b), form, dropout,
                         source, n, factors.data());
          write_row(sum, row.data(), n);
          read_row(row.data(), sum, n);  // as later readers see it
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
        write_row(data<T>(to.normed) + r * n, out.data(), n);
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
  tensor::parallel_for(0, (n + strip - 1) / strip, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * strip; first < std::min(end * strip, n); first += strip) {
      const std::int64_t width = std::min(strip, n - first);
      float weights[strip] = {}, shifts[strip] = {}, d[strip], x[strip];
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = r * n + first;
        add_norm_parameters(weights, shifts, float_row(data<T>(d_normed) + at, d, width),
                            float_row(data<T>(sum) + at, x, width),
                            {mean.defined() ? data<float>(mean)[r] : 0, data<float>(rstd)[r]},
                            width);
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
    tensor::parallel_for(0, rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> dx(static_cast<std::size_t>(n)), d(dx), x(dx), factors(dx);
      for (std::int64_t r = begin; r < end; ++r) {
        if (d_sum.defined())
          read_row(dx.data(), data<T>(d_sum) + r * n, n);
        else
          std::ranges::fill(dx, 0.0f);
        if (d_normed.defined()) {
          norm_row_backward(dx.data(), float_row(data<T>(d_normed) + r * n, d.data(), n),
                            float_row(data<T>(sum) + r * n, x.data(), n),
                            {mean.defined() ? data<float>(mean)[r] : 0, data<float>(rstd)[r]},
                            or_null(w), form.rms, n);
        }
        write_row(data<T>(to.dx) + r * n, dx.data(), n);
        if (!to.d_branch.defined()) continue;
        if (dropout) dropout_factors(dropout, r, n, 0, n, factors.data());
        for (std::int64_t c = 0; c < n; ++c)
          dx[static_cast<std::size_t>(c)] *=
              static_cast<float>(form.branch_scale) *
              (dropout ? factors[static_cast<std::size_t>(c)] : 1.0f);
        write_row(data<T>(to.d_branch) + r * n, dx.data(), n);
      }
    });
  });
  if (to.d_bias.defined())
    column_sum(to.d_bias, to.d_branch.defined() ? to.d_branch : to.dx, to.accumulate);
}

}  // namespace trainx::operations
