#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/head_norm/head_norm_backends.hpp"
#include <ATen/Parallel.h>
#include <cmath>

namespace trainx::operations {

namespace {

/// Queries, or keys: columns [first, first + groups * size) of a row, statistics from `group` on.
struct Part {
  std::int64_t first, groups, size, group;
  const Tensor &weight, &bias;
  std::int64_t columns() const { return groups * size; }
};

std::int64_t columns_of(const HeadNorm& n) {
  return (n.query_heads + 2 * n.key_value_heads) * n.head_size;
}

std::array<Part, 2> parts(const HeadNorm& n, const HeadNormWeights& w) {
  const std::int64_t Q = n.query_heads, K = n.key_value_heads, D = n.head_size;
  if (n.whole)
    return {Part{0, 1, Q * D, 0, w.query_weight, w.query_bias},
            Part{Q * D, 1, K * D, 1, w.key_weight, w.key_bias}};
  return {Part{0, Q, D, 0, w.query_weight, w.query_bias},
          Part{Q * D, K, D, Q, w.key_weight, w.key_bias}};
}

/// Element `c` of the part's columns: of its group's, or its own.
template <class T>
float of_column(const Tensor& t, std::int64_t c) {
  return load(data<T>(t)[c % t.numel()]);
}

struct Moments {
  float mean, rstd;
};

template <class T>
Moments moments_of(const T* x, std::int64_t n, bool rms, double epsilon) {
  const auto count = static_cast<float>(n);
  float mean = 0, squares = 0;
  if (!rms) {
    for (std::int64_t i = 0; i < n; ++i) mean += load(x[i]);
    mean /= count;
  }
  for (std::int64_t i = 0; i < n; ++i) squares += (load(x[i]) - mean) * (load(x[i]) - mean);
  return {mean, static_cast<float>(1 / std::sqrt(static_cast<double>(squares / count) + epsilon))};
}

}  // namespace

void cpu::head_norm(const HeadNorm& n, const HeadNormed& to, const Tensor& x,
                    const HeadNormWeights& weights) {
  const TimedWork timed(Work::norm);
  const std::int64_t columns = columns_of(n),
                     normed = (n.query_heads + n.key_value_heads) * n.head_size;
  const std::array<Part, 2> all = parts(n, weights);
  const auto offset = static_cast<float>(n.weight_offset);
  with_element(x, [&]<class T>(T) {
    at::parallel_for(0, x.size(0), row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T* const from = data<T>(x) + r * columns;
        T* const out = to.y.defined() ? data<T>(to.y) + r * columns : nullptr;
        for (const Part& p : all)
          for (std::int64_t g = 0; g < p.groups; ++g) {
            const std::int64_t at = p.first + g * p.size;
            const Moments m = moments_of(from + at, p.size, n.rms, n.epsilon);
            const std::int64_t statistic = r * n.groups() + p.group + g;
            if (to.rstd.defined()) data<float>(to.rstd)[statistic] = m.rstd;
            if (to.mean.defined()) data<float>(to.mean)[statistic] = m.mean;
            for (std::int64_t c = 0; out && c < p.size; ++c) {
              float v = (load(from[at + c]) - m.mean) * m.rstd;
              if (p.weight.defined()) v *= of_column<T>(p.weight, g * p.size + c) + offset;
              if (p.bias.defined()) v += of_column<T>(p.bias, g * p.size + c);
              store(out[at + c], v);
            }
          }
        for (std::int64_t c = normed; out && c < columns; ++c) out[c] = from[c];
      }
    });
  });
}

namespace {

/// Sums over rows, and over groups that share an element.
template <class T>
void sum_gradients(const HeadNorm& n, const Part& p, const Tensor& d_weight, const Tensor& d_bias,
                   const Tensor& dy, const Tensor& x, const HeadNormed& of, bool accumulate) {
  const std::int64_t columns = columns_of(n), rows = x.size(0);
  const Tensor& like = d_weight.defined() ? d_weight : d_bias;
  if (!like.defined()) return;
  const std::int64_t width = like.numel();
  at::parallel_for(0, width, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t w = begin; w < end; ++w) {
      float weight = 0, bias = 0;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = w; c < p.columns(); c += width) {
          const std::int64_t at = r * columns + p.first + c,
                             statistic = r * n.groups() + p.group + c / p.size;
          const float mean = of.mean.defined() ? data<float>(of.mean)[statistic] : 0,
                      d = load(data<T>(dy)[at]);
          weight += d * (load(data<T>(x)[at]) - mean) * data<float>(of.rstd)[statistic];
          bias += d;
        }
      const auto put = [&](const Tensor& t, float v) {
        if (t.defined()) data<float>(t)[w] = (accumulate ? data<float>(t)[w] : 0.0f) + v;
      };
      put(d_weight, weight);
      put(d_bias, bias);
    }
  });
}

}  // namespace

void cpu::head_norm_backward(const HeadNorm& n, const Tensor& dx, const HeadNormWeights& gradients,
                             const Tensor& dy, const Tensor& x, const HeadNormed& of,
                             const HeadNormWeights& weights, bool accumulate) {
  const TimedWork timed(Work::norm);
  const std::int64_t columns = columns_of(n),
                     normed = (n.query_heads + n.key_value_heads) * n.head_size;
  const std::array<Part, 2> all = parts(n, weights);
  const auto offset = static_cast<float>(n.weight_offset);
  with_element(x, [&]<class T>(T) {
    sum_gradients<T>(n, all[0], gradients.query_weight, gradients.query_bias, dy, x, of,
                     accumulate);
    sum_gradients<T>(n, all[1], gradients.key_weight, gradients.key_bias, dy, x, of, accumulate);
    at::parallel_for(0, x.size(0), row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T *const d = data<T>(dy) + r * columns, *const from = data<T>(x) + r * columns;
        T* const out = data<T>(dx) + r * columns;
        for (const Part& p : all)
          for (std::int64_t g = 0; g < p.groups; ++g) {
            const std::int64_t at = p.first + g * p.size, statistic = r * n.groups() + p.group + g;
            const float rstd = data<float>(of.rstd)[statistic],
                        mean = of.mean.defined() ? data<float>(of.mean)[statistic] : 0;
            const auto gradient = [&](std::int64_t c) {
              const float v = load(d[at + c]);
              return p.weight.defined() ? v * (of_column<T>(p.weight, g * p.size + c) + offset) : v;
            };
            const auto z = [&](std::int64_t c) { return (load(from[at + c]) - mean) * rstd; };
            float sum = 0, product = 0;
            for (std::int64_t c = 0; c < p.size; ++c) {
              sum += gradient(c);
              product += gradient(c) * z(c);
            }
            const auto size = static_cast<float>(p.size);
            const float average = n.rms ? 0 : sum / size, slope = product / size;
            for (std::int64_t c = 0; c < p.size; ++c)
              store(out[at + c], rstd * (gradient(c) - average - z(c) * slope));
          }
        for (std::int64_t c = normed; c < columns; ++c) out[c] = d[c];
      }
    });
  });
}

}  // namespace trainx::operations
