#pragma once
#include "operations/attention/attention_keys.hpp"

namespace trainx::operations {

/// What a host's softmax takes of the products of a query and keys: scaled, capped, -infinity
/// where the query does not look.
class AttentionScores {
 public:
  explicit AttentionScores(const Attention& a);

  /// `row`: products of a query with keys [first, first + n), of which it sees `seen`. `slopes`:
  /// derivatives of the scores by the products, where they are wanted.
  void finish(float* row, float* slopes, std::int64_t first, std::int64_t n, KeyRange seen) const;

 private:
  float scale_, cap_;
};

/// Scores of a row become probabilities; returns the logarithm of their sum. A row that sees
/// nothing gets zeros, and -infinity.
float softmax(float* scores, std::int64_t n);
/// The same, where that logarithm is known.
void softmax_with(float* scores, std::int64_t n, float logarithm);

}  // namespace trainx::operations
