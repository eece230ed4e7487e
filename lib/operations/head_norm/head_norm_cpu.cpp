#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/head_norm/head_norm_backends.hpp"
#include "operations/norm/norm_rows.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <array>
#include <vector>

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

/// A part's parameter in fp32, plus `offset`, for each of its columns; empty: it is absent.
std::vector<float> of_columns(const Tensor& t, const Part& p, double offset = 0) {
  const std::vector<float> given = widened(t, offset);
  std::vector<float> all;
  while (!given.empty() && all.size() < static_cast<std::size_t>(p.columns()))
    all.insert(all.end(), given.begin(), given.end());
  return all;
}
/// Of group g; null: absent.
const float* of_group(const std::vector<float>& columns, const Part& p, std::int64_t g) {
  return columns.empty() ? nullptr : columns.data() + g * p.size;
}

struct PartValues {
  Part part;
  std::vector<float> weight, bias;
};
std::array<PartValues, 2> values_of(const HeadNorm& n, const HeadNormWeights& w) {
  const auto of = [&](const Part& p) {
    return PartValues{p, of_columns(p.weight, p, n.weight_offset), of_columns(p.bias, p)};
  };
  const std::array<Part, 2> all = parts(n, w);
  return {of(all[0]), of(all[1])};
}

RowMoments kept_moments(const HeadNormed& of, std::int64_t statistic) {
  return {of.mean.defined() ? data<float>(of.mean)[statistic] : 0, data<float>(of.rstd)[statistic]};
}

}  // namespace

void cpu::head_norm(const HeadNorm& n, const HeadNormed& to, const Tensor& x,
                    const HeadNormWeights& weights) {
  const TimedWork timed(Work::norm);
  const std::int64_t columns = columns_of(n),
                     normed = (n.query_heads + n.key_value_heads) * n.head_size;
  const std::array<PartValues, 2> all = values_of(n, weights);
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(
        0, x.size(0), row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
          std::vector<float> row(static_cast<std::size_t>(columns)), values(row);
          for (std::int64_t r = begin; r < end; ++r) {
            const T* const given = data<T>(x) + r * columns;
            const float* const from = float_row(given, row.data(), columns);
            T* const out = to.y.defined() ? data<T>(to.y) + r * columns : nullptr;
            for (const PartValues& v : all)
              for (std::int64_t g = 0; g < v.part.groups; ++g) {
                const Part& p = v.part;
                const std::int64_t at = p.first + g * p.size,
                                   statistic = r * n.groups() + p.group + g;
                const RowMoments m = row_moments(from + at, p.size, n.rms, n.epsilon);
                if (to.rstd.defined()) data<float>(to.rstd)[statistic] = m.rstd;
                if (to.mean.defined()) data<float>(to.mean)[statistic] = m.mean;
                if (!out) continue;
                norm_row(values.data(), from + at, m, of_group(v.weight, p, g),
                         of_group(v.bias, p, g), p.size);
                write_row(out + at, values.data(), p.size);
              }
            if (out && out != given) std::copy(given + normed, given + columns, out + normed);
          }
        });
  });
}

namespace {

/// Sums over rows, and over groups that share an element. Columns side by side in strips of a
/// group: their sums stay in registers.
template <class T>
void sum_gradients(const HeadNorm& n, const Part& p, const Tensor& d_weight, const Tensor& d_bias,
                   const Tensor& dy, const Tensor& x, const HeadNormed& of, bool accumulate) {
  constexpr std::int64_t strip = 64;
  const Tensor& like = d_weight.defined() ? d_weight : d_bias;
  if (!like.defined()) return;
  const std::int64_t columns = columns_of(n), rows = x.size(0), width = like.numel(),
                     strips = (p.size + strip - 1) / strip;
  tensor::parallel_for(0, width / p.size * strips, 1, [&](std::int64_t begin, std::int64_t end) {
    float d_row[strip], x_row[strip];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t inside = i % strips * strip, first = i / strips * p.size + inside,
                         count = std::min(strip, p.size - inside);
      float weights[strip] = {}, biases[strip] = {};
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = first; c < p.columns(); c += width) {
          const std::int64_t at = r * columns + p.first + c;
          add_norm_parameters(weights, biases, float_row(data<T>(dy) + at, d_row, count),
                              float_row(data<T>(x) + at, x_row, count),
                              kept_moments(of, r * n.groups() + p.group + c / p.size), count);
        }
      const auto put = [&](const Tensor& t, const float* sums) {
        if (!t.defined()) return;
        float* const to = data<float>(t) + first;
        for (std::int64_t c = 0; c < count; ++c) to[c] = (accumulate ? to[c] : 0.0f) + sums[c];
      };
      put(d_weight, weights);
      put(d_bias, biases);
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
  const std::array<PartValues, 2> all = values_of(n, weights);
  with_element(x, [&]<class T>(T) {
    sum_gradients<T>(n, all[0].part, gradients.query_weight, gradients.query_bias, dy, x, of,
                     accumulate);
    sum_gradients<T>(n, all[1].part, gradients.key_weight, gradients.key_bias, dy, x, of,
                     accumulate);
    tensor::parallel_for(
        0, x.size(0), row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
          std::vector<float> d_row(static_cast<std::size_t>(columns)), x_row(d_row), values(d_row);
          for (std::int64_t r = begin; r < end; ++r) {
            const T* const given = data<T>(dy) + r * columns;
            const float *const d = float_row(given, d_row.data(), columns), *const from = float_row(
                                                                                data<T>(x) +
                                                                                    r * columns,
                                                                                x_row.data(),
                                                                                columns);
            T* const out = data<T>(dx) + r * columns;
            for (const PartValues& v : all)
              for (std::int64_t g = 0; g < v.part.groups; ++g) {
                const Part& p = v.part;
                const std::int64_t at = p.first + g * p.size;
                std::fill_n(values.begin(), p.size, 0.0f);
                norm_row_backward(values.data(), d + at, from + at,
                                  kept_moments(of, r * n.groups() + p.group + g),
                                  of_group(v.weight, p, g), n.rms, p.size);
                write_row(out + at, values.data(), p.size);
              }
            if (out != given) std::copy(given + normed, given + columns, out + normed);
          }
        });
  });
}

}  // namespace trainx::operations
