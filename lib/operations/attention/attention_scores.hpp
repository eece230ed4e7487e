#pragma once
#include "operations/attention/attention_spec.hpp"
#include "tensor/tensor.hpp"
#include <cstdint>
#include <limits>
#include <vector>

namespace trainx::operations {

/// A head's query at `position` among its keys.
struct AttentionQuery {
  std::int64_t head, position;
};

/// What a host's softmax takes of the products of queries and keys: scaled, capped, with a bias of
/// each head and distance that ALiBi or a learned table gives.
class AttentionScores {
 public:
  /// Of `queries` queries, the first at position `past` among its `keys` keys. `biases`: [buckets,
  /// query heads], where the attributes have a table.
  AttentionScores(const Attention& a, std::int64_t past, std::int64_t queries, std::int64_t keys,
                  const Tensor& biases);

  /// `row`: products of the query with keys [first, first + n). `slopes`: derivatives of the scores
  /// by the products, where they are wanted.
  void finish(float* row, float* slopes, const AttentionQuery& query, std::int64_t first,
              std::int64_t n) const;
  /// Adds gradients of that row's scores to those of the head's learned biases, by bucket.
  void add_bias_gradients(const float* d_row, const AttentionQuery& query, std::int64_t first,
                          std::int64_t n, double* d_biases) const;

 private:
  std::size_t distance(std::int64_t position, std::int64_t key) const {
    return static_cast<std::size_t>(key - position - lowest_);
  }

  float scale_, cap_;
  std::int64_t lowest_;                // distance of a key from its query: key - position
  std::size_t distances_;              // that there are, from `lowest` on
  std::vector<std::int32_t> buckets_;  // by distance; empty: nothing is learned
  std::vector<float> biases_;          // [heads, distances]; empty: none
};

constexpr float no_score = -std::numeric_limits<float>::infinity();

/// Scores of a row become probabilities; returns the logarithm of their sum. `sink`: a score that
/// takes its share of them. Of no scores it is the sink's.
float softmax(float* scores, std::int64_t n, float sink = no_score);

}  // namespace trainx::operations
