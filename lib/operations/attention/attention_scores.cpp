#include "operations/attention/attention_scores.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace trainx::operations {
namespace {

/// Of ALiBi: a geometric sequence from 2^(-8 / heads) on; where heads are no power of two those of
/// the power below, and between them every other one of twice that power.
std::vector<float> falls_of(std::int64_t heads) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<float> out;
  for (std::int64_t h = 0; h < heads; ++h) {
    const bool between = h >= power;
    const auto n = static_cast<double>(between ? 2 * (h - power) + 1 : h + 1);
    out.push_back(
        static_cast<float>(std::exp2(-8 * n / static_cast<double>(between ? 2 * power : power))));
  }
  return out;
}

}  // namespace

AttentionScores::AttentionScores(const Attention& a)
    : scale_(static_cast<float>(a.scale > 0 ? a.scale
                                            : 1 / std::sqrt(static_cast<double>(a.head_size)))),
      cap_(static_cast<float>(a.soft_cap)),
      falls_(a.alibi ? falls_of(a.query_heads) : std::vector<float>()) {}

void AttentionScores::finish(float* row, float* slopes, const AttentionQuery& query,
                             std::int64_t first, std::int64_t n, KeyRange seen) const {
  const float fall = falls_.empty() ? 0 : falls_[static_cast<std::size_t>(query.head)];
  for (std::int64_t i = 0; i < n; ++i) {
    float slope = scale_;
    row[i] *= scale_;
    if (cap_ > 0) {
      const float u = std::tanh(row[i] / cap_);
      row[i] = cap_ * u, slope *= 1 - u * u;
    }
    if (slopes) slopes[i] = slope;
    const std::int64_t k = first + i;
    if (fall > 0) row[i] -= fall * static_cast<float>(std::abs(query.position - k));
    if (k < seen.from || k >= seen.to) row[i] = hidden_score;
  }
}

float softmax(float* s, std::int64_t n, float sink) {
  const float most = std::max(*std::max_element(s, s + n), sink);
  if (most == hidden_score) {
    std::fill_n(s, n, 0.0f);
    return most;
  }
  float sum = std::exp(sink - most);
  for (std::int64_t k = 0; k < n; ++k) sum += s[k] = std::exp(s[k] - most);
  for (std::int64_t k = 0; k < n; ++k) s[k] /= sum;
  return most + std::log(sum);
}

void softmax_with(float* s, std::int64_t n, float logarithm) {
  for (std::int64_t k = 0; k < n; ++k) s[k] = s[k] == hidden_score ? 0 : std::exp(s[k] - logarithm);
}

}  // namespace trainx::operations
