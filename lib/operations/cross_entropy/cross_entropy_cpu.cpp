#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/common/element.hpp"
#include "operations/common/exp.hpp"
#include "operations/cross_entropy/changed_row.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace trainx::operations {

namespace {

TRAINX_CLONES float maximum(const float* x, std::int64_t n) {
  float m = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : m)
  for (std::int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

/// Sum of exp(x - m), in fp32 within 256 elements, in fp64 between them.
TRAINX_CLONES double sum_of_exponentials(const float* x, float m, std::int64_t n) {
  double total = 0;
  for (std::int64_t first = 0; first < n; first += 256) {
    const std::int64_t last = first + 256 < n ? first + 256 : n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = first; i < last; ++i) sum += exp_non_positive(x[i] - m);
    total += sum;
  }
  return total;
}

/// The same, leaving the exponentials in x.
TRAINX_CLONES double exponentials_in_place(float* x, float m, std::int64_t n) {
  double total = 0;
  for (std::int64_t first = 0; first < n; first += 256) {
    const std::int64_t last = first + 256 < n ? first + 256 : n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = first; i < last; ++i) {
      x[i] = exp_non_positive(x[i] - m);
      sum += x[i];
    }
    total += sum;
  }
  return total;
}

/// Sum of x - m.
TRAINX_CLONES double sum_of_differences(const float* x, float m, std::int64_t n) {
  double total = 0;
  for (std::int64_t first = 0; first < n; first += 256) {
    const std::int64_t last = first + 256 < n ? first + 256 : n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = first; i < last; ++i) sum += x[i] - m;
    total += sum;
  }
  return total;
}

TRAINX_CLONES void scale_and_add(float* x, float by, float more, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] * by + more;
}

TRAINX_CLONES void scale(float* x, float by, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) x[i] *= by;
}

void check_target(std::int32_t target, std::int64_t vocab_size) {
  if (target < 0 || target >= vocab_size)
    throw InternalError("cross_entropy: target " + std::to_string(target) +
                        " outside the vocabulary");
}

/// Loss of a row under terms; x becomes its gradient, but for the target's own share. `at_target`:
/// the logit less `m`, the largest.
float with_terms(float* x, float m, double at_target, std::int64_t vocab_size, double seed,
                 const LossForm& form) {
  const double of_each = form.smoothing / static_cast<double>(vocab_size);
  const double differences = of_each > 0 ? sum_of_differences(x, m, vocab_size) : 0;
  const double sum = exponentials_in_place(x, m, vocab_size), log_sum = std::log(sum),
               z = log_sum + m;
  scale_and_add(x, static_cast<float>(seed * (1 + 2 * form.z_loss * z) / sum),
                static_cast<float>(-seed * of_each), vocab_size);
  return static_cast<float>(log_sum - (1 - form.smoothing) * at_target - of_each * differences +
                            form.z_loss * z * z);
}

}  // namespace

void cross_entropy(const Tensor& row_loss, const Tensor& logits, const std::int32_t* targets,
                   std::int64_t vocab_size) {
  auto* loss = data<float>(row_loss);
  const std::int64_t width = logits.size(1);
  tensor::parallel_for(
      0, logits.size(0), row_grain(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          loss[r] = 0;
          if (targets[r] == no_target) continue;
          check_target(targets[r], vocab_size);
          const float* const x = data<float>(logits) + r * width;
          const float m = maximum(x, vocab_size);
          loss[r] = static_cast<float>(std::log(sum_of_exponentials(x, m, vocab_size)) -
                                       (static_cast<double>(x[targets[r]]) - m));
        }
      });
}

void cross_entropy_with_gradient(const Tensor& row_loss, const Tensor& logits,
                                 const std::int32_t* targets, std::int64_t vocab_size, double seed,
                                 const LossForm& form) {
  auto* loss = data<float>(row_loss);
  const std::int64_t width = logits.size(1);
  const auto row_gradient = [&](std::int64_t r, float* x, float* slopes) {
    loss[r] = 0;
    if (targets[r] == no_target) {
      std::fill_n(x, width, 0.0f);
      return;
    }
    check_target(targets[r], vocab_size);
    if (slopes) change_row(x, slopes, vocab_size, form.change);
    const float m = maximum(x, vocab_size);
    const double at_target = static_cast<double>(x[targets[r]]) - m;
    if (form.has_terms()) {
      loss[r] = with_terms(x, m, at_target, vocab_size, seed, form);
      x[targets[r]] -= static_cast<float>(seed * (1 - form.smoothing));
    } else {
      const double sum = exponentials_in_place(x, m, vocab_size);
      loss[r] = static_cast<float>(std::log(sum) - at_target);
      scale(x, static_cast<float>(seed / sum), vocab_size);
      x[targets[r]] -= static_cast<float>(seed);
    }
    for (std::int64_t c = 0; slopes && c < vocab_size; ++c) x[c] *= slopes[c];
    std::fill_n(x + vocab_size, width - vocab_size, 0.0f);
  };
  tensor::parallel_for(
      0, logits.size(0), row_grain(width), [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> slopes(form.change.any() ? static_cast<std::size_t>(vocab_size) : 0);
        for (std::int64_t r = begin; r < end; ++r)
          row_gradient(r, data<float>(logits) + r * width,
                       slopes.empty() ? nullptr : slopes.data());
      });
}

}  // namespace trainx::operations
