#include "operations/attention/attention_scores.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace trainx::operations {
namespace {

constexpr float hidden = -std::numeric_limits<float>::infinity();

}  // namespace

AttentionScores::AttentionScores(const Attention& a)
    : scale_(static_cast<float>(a.scale > 0 ? a.scale
                                            : 1 / std::sqrt(static_cast<double>(a.head_size)))),
      cap_(static_cast<float>(a.soft_cap)) {}

void AttentionScores::finish(float* row, float* slopes, std::int64_t first, std::int64_t n,
                             KeyRange seen) const {
  for (std::int64_t i = 0; i < n; ++i) {
    float slope = scale_;
    row[i] *= scale_;
    if (cap_ > 0) {
      const float u = std::tanh(row[i] / cap_);
      row[i] = cap_ * u, slope *= 1 - u * u;
    }
    if (slopes) slopes[i] = slope;
    if (const std::int64_t k = first + i; k < seen.from || k >= seen.to) row[i] = hidden;
  }
}

float softmax(float* s, std::int64_t n) {
  const float most = *std::max_element(s, s + n);
  if (most == hidden) {
    std::fill_n(s, n, 0.0f);
    return most;
  }
  float sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += s[k] = std::exp(s[k] - most);
  for (std::int64_t k = 0; k < n; ++k) s[k] /= sum;
  return most + std::log(sum);
}

void softmax_with(float* s, std::int64_t n, float logarithm) {
  for (std::int64_t k = 0; k < n; ++k) s[k] = s[k] == hidden ? 0 : std::exp(s[k] - logarithm);
}

}  // namespace trainx::operations
