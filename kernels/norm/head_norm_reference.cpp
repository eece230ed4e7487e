#include "kernels/norm/head_norm.hpp"
#include <cmath>
#include <vector>

namespace trainx::kernels {
namespace {

// Queries (part 0) or keys (part 1): groups of `size` columns from `first` on.
struct HeadPart {
  std::int64_t first, groups, size, group;
  HeadPart(const HeadNormShape& s, int part) {
    const std::int64_t heads = part == 0 ? s.query_heads : s.key_value_heads;
    first = part == 0 ? 0 : s.query_heads * s.head_size;
    groups = s.whole ? 1 : heads;
    size = s.whole ? heads * s.head_size : s.head_size;
    group = part == 0 ? 0 : s.whole ? 1 : s.query_heads;
  }
  std::int64_t of_weight(const HeadNormShape& s, int part, std::int64_t g, std::int64_t c) const {
    return s.by_column[part] ? g * size + c : c;
  }
};

template <class T>
void forward(const HeadNorm<T>& op) {
  const HeadNormShape& s = op.shape;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T* const x = op.x + r * s.columns();
    T* const y = op.y ? op.y + r * s.columns() : nullptr;
    for (int part = 0; part < 2; ++part) {
      const HeadPart p(s, part);
      for (std::int64_t g = 0; g < p.groups; ++g) {
        const std::int64_t at = p.first + g * p.size;
        double mean = 0, squares = 0;
        for (std::int64_t c = 0; !s.rms && c < p.size; ++c) mean += widened(x[at + c]);
        mean /= static_cast<double>(p.size);
        for (std::int64_t c = 0; c < p.size; ++c)
          squares += (widened(x[at + c]) - mean) * (widened(x[at + c]) - mean);
        const double rstd = 1 / std::sqrt(squares / static_cast<double>(p.size) + s.epsilon);
        if (op.mean) op.mean[r * s.groups() + p.group + g] = static_cast<float>(mean);
        if (op.rstd) op.rstd[r * s.groups() + p.group + g] = static_cast<float>(rstd);
        for (std::int64_t c = 0; y && c < p.size; ++c) {
          const std::int64_t w = p.of_weight(s, part, g, c);
          double v = (widened(x[at + c]) - mean) * rstd;
          if (op.weight[part]) v *= widened(op.weight[part][w]) + s.weight_offset;
          if (op.bias[part]) v += widened(op.bias[part][w]);
          narrow(static_cast<float>(v), y[at + c]);
        }
      }
    }
    for (std::int64_t c = s.normed_columns(); y && c < s.columns(); ++c) y[c] = x[c];
  }
}

template <class T>
void backward(const HeadNormBackward<T>& op) {
  const HeadNormShape& s = op.shape;
  std::vector<double> weights[2], biases[2];
  for (int part = 0; part < 2; ++part) {
    const HeadPart p(s, part);
    weights[part].resize(static_cast<std::size_t>(s.by_column[part] ? p.groups * p.size : p.size));
    biases[part] = weights[part];
  }
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *const dy = op.dy + r * s.columns(), *const x = op.x + r * s.columns();
    T* const dx = op.dx + r * s.columns();
    for (int part = 0; part < 2; ++part) {
      const HeadPart p(s, part);
      for (std::int64_t g = 0; g < p.groups; ++g) {
        const std::int64_t at = p.first + g * p.size, statistic = r * s.groups() + p.group + g;
        const double mean = op.mean ? op.mean[statistic] : 0, rstd = op.rstd[statistic];
        const auto gradient = [&](std::int64_t c) {
          const double d = widened(dy[at + c]);
          const std::int64_t w = p.of_weight(s, part, g, c);
          return op.weight[part] ? d * (widened(op.weight[part][w]) + s.weight_offset) : d;
        };
        const auto z = [&](std::int64_t c) { return (widened(x[at + c]) - mean) * rstd; };
        double sum = 0, product = 0;
        for (std::int64_t c = 0; c < p.size; ++c) {
          const auto w = static_cast<std::size_t>(p.of_weight(s, part, g, c));
          sum += gradient(c);
          product += gradient(c) * z(c);
          weights[part][w] += widened(dy[at + c]) * z(c);
          biases[part][w] += widened(dy[at + c]);
        }
        const auto size = static_cast<double>(p.size);
        const double average = s.rms ? 0 : sum / size, slope = product / size;
        for (std::int64_t c = 0; c < p.size; ++c)
          narrow(static_cast<float>(rstd * (gradient(c) - average - z(c) * slope)), dx[at + c]);
      }
    }
    for (std::int64_t c = s.normed_columns(); c < s.columns(); ++c) dx[c] = dy[c];
  }
  const auto put = [&](float* to, const std::vector<double>& sums) {
    for (std::size_t w = 0; to && w < sums.size(); ++w)
      to[w] = static_cast<float>((op.accumulate ? to[w] : 0.0) + sums[w]);
  };
  for (int part = 0; part < 2; ++part) {
    put(op.d_weight[part], weights[part]);
    put(op.d_bias[part], biases[part]);
  }
}

}  // namespace

template <class T>
void head_norm_reference(const HeadNorm<T>& op) {
  forward(op);
}
template <class T>
void head_norm_backward_reference(const HeadNormBackward<T>& op) {
  backward(op);
}

template void head_norm_reference(const HeadNorm<float>&);
template void head_norm_reference(const HeadNorm<Bf16>&);
template void head_norm_reference(const HeadNorm<Fp16>&);
template void head_norm_backward_reference(const HeadNormBackward<float>&);
template void head_norm_backward_reference(const HeadNormBackward<Bf16>&);
template void head_norm_backward_reference(const HeadNormBackward<Fp16>&);

}  // namespace trainx::kernels
