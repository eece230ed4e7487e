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
  /// Samples have `keys` rows, the last `queries` of which are queries.
  AttentionKeys(const Attention& a, std::int64_t queries, std::int64_t keys, const Tensor& seen)
      : a_(a), queries_(queries), keys_(keys), seen_(seen) {}

  std::int64_t past() const { return keys_ - queries_; }  // rows before the first query
  /// None: from == to.
  KeyRange of(std::int64_t sample, std::int64_t query) const;
  /// That any of queries [begin, end) sees; at least one.
  KeyRange of(std::int64_t sample, std::int64_t begin, std::int64_t end) const;

 private:
  const Attention& a_;
  std::int64_t queries_, keys_;
  Tensor seen_;
};

}  // namespace trainx::operations
