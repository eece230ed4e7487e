#pragma once
#include "operations/attention/attention_spec.hpp"
#include "tensor/tensor.hpp"
#include <cstdint>

namespace trainx::operations {

/// Keys [from, to) of a sample.
struct KeyRange {
  std::int64_t from = 0, to = 0;
  std::int64_t size() const { return to - from; }
};

/// Which keys a query of a host's attention sees: all that causal order, lengths, documents and
/// windows leave. They follow one another.
class AttentionKeys {
 public:
  /// Samples have `keys` rows, the last `queries` of which are queries; with a memory, queries are
  /// rows of another text. InternalError for a memory under another mask than lengths.
  AttentionKeys(const Attention& a, std::int64_t queries, std::int64_t keys, const Tensor& seen);

  std::int64_t past() const { return past_; }  // rows before the first query
  /// None: size() is 0.
  KeyRange of(std::int64_t sample, std::int64_t query) const;
  /// That any of queries [begin, end) sees; at least one.
  KeyRange of(std::int64_t sample, std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t length_of(std::int64_t sample) const;

  const Attention& a_;
  std::int64_t queries_, keys_, past_;
  std::int64_t before_, after_;  // how many keys before its own and behind it a query sees
  Tensor seen_;
};

}  // namespace trainx::operations
