#include "operations/attention/attention_scores.hpp"
#include "operations/attention/grouped_attention.hpp"
#include "kernels/attention/alibi.hpp"
#include "tensor/torch_view.hpp"
#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace trainx::operations {
AttentionScores::AttentionScores(const Attention& a, std::int64_t past, std::int64_t queries,
                                 std::int64_t keys, const Tensor& biases)
    : scale_(static_cast<float>(a.scale > 0 ? a.scale
                                            : 1 / std::sqrt(static_cast<double>(a.head_size)))),
      cap_(static_cast<float>(a.soft_cap)),
      lowest_(1 - past - queries),
      distances_(static_cast<std::size_t>(queries + keys - 1)) {
  if (!a.alibi && !biases.defined()) return;
  at::Tensor table;  // [buckets, heads]
  if (biases.defined()) {
    table = tensor::torch_view(biases).to(at::kFloat).contiguous();
    buckets_ = a.bias.buckets_of(lowest_, distances_);
  }
  const std::int64_t first_column = biases.defined() ? first_bias_column(a, biases) : 0;
  biases_.reserve(static_cast<std::size_t>(a.query_heads) * distances_);
  for (std::int64_t h = 0; h < a.query_heads; ++h) {
    const float slope = a.alibi ? kernels::alibi_slope(a.first_head + h, a.all_heads()) : 0;
    for (std::size_t d = 0; d < distances_; ++d) {
      const auto far = static_cast<float>(std::abs(lowest_ + static_cast<std::int64_t>(d)));
      const float learned =
          table.defined()
              ? table.const_data_ptr<float>()[buckets_[d] * table.size(1) + first_column + h]
              : 0;
      biases_.push_back(learned - slope * far);
    }
  }
}

void AttentionScores::finish(float* row, float* slopes, const AttentionQuery& query,
                             std::int64_t first, std::int64_t n) const {
  for (std::int64_t i = 0; i < n; ++i) row[i] *= scale_;
  if (slopes) std::fill_n(slopes, n, scale_);
  for (std::int64_t i = 0; cap_ > 0 && i < n; ++i) {
    const float u = std::tanh(row[i] / cap_);
    row[i] = cap_ * u;
    if (slopes) slopes[i] *= 1 - u * u;
  }
  if (biases_.empty()) return;
  const float* const bias = biases_.data() + static_cast<std::size_t>(query.head) * distances_ +
                            distance(query.position, first);
  for (std::int64_t i = 0; i < n; ++i) row[i] += bias[i];
}

void AttentionScores::add_bias_gradients(const float* d_row, const AttentionQuery& query,
                                         std::int64_t first, std::int64_t n,
                                         double* d_biases) const {
  const std::int32_t* const bucket = buckets_.data() + distance(query.position, first);
  for (std::int64_t i = 0; i < n; ++i) d_biases[bucket[i]] += d_row[i];
}

float softmax(float* s, std::int64_t n, float sink) {
  float most = sink;
  for (std::int64_t k = 0; k < n; ++k) most = std::max(most, s[k]);
  if (most == no_score) {
    std::fill_n(s, n, 0.0f);
    return most;
  }
  float sum = std::exp(sink - most);
  for (std::int64_t k = 0; k < n; ++k) sum += s[k] = std::exp(s[k] - most);
  for (std::int64_t k = 0; k < n; ++k) s[k] /= sum;
  return most + std::log(sum);
}

}  // namespace trainx::operations
