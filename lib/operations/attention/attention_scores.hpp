#pragma once
#include "operations/attention/attention_keys.hpp"
#include <limits>
#include <vector>

namespace trainx::operations {

/// A query of a head of a sample, at `position` among its keys.
struct AttentionQuery {
  std::int64_t sample, head, position;
};

/// What a host's softmax takes of the products of a query and keys: scaled, capped, with what the
/// places of both add, -infinity where the query does not look.
class AttentionScores {
 public:
  explicit AttentionScores(const Attention& a);

  /// `row`: products of the query with keys [first, first + n), of which it sees `seen`. `slopes`:
  /// derivatives of the scores by the products, where they are wanted.
  void finish(float* row, float* slopes, const AttentionQuery& query, std::int64_t first,
              std::int64_t n, KeyRange seen) const;

 private:
  float scale_, cap_;
  std::vector<float> falls_;  // ALiBi: of each head, with distance; empty: none
};

constexpr float hidden_score = -std::numeric_limits<float>::infinity();

/// Scores of a row become probabilities; returns the logarithm of their sum. `sink`: a score that
/// takes its share of them. A row that sees nothing gets zeros, and -infinity.
float softmax(float* scores, std::int64_t n, float sink = hidden_score);
/// The same, where that logarithm is known.
void softmax_with(float* scores, std::int64_t n, float logarithm);

}  // namespace trainx::operations
