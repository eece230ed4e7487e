#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainx::operations {

/// Learned biases of scores by how far a key is from its query (Raffel et al. 2019,
/// arXiv:1910.10683): half of the buckets are a distance each, the others grow with its logarithm
/// until max_distance, the last one holds all beyond. A table [buckets, heads] has the biases.
struct RelativeBias {
  std::int64_t buckets = 0, max_distance = 0;  // no buckets: no bias
  bool both_sides = false;                     // half of the buckets are of keys behind the query

  bool operator==(const RelativeBias&) const = default;
  /// Buckets of `count` distances, key - query, from `lowest` on.
  std::vector<std::int32_t> buckets_of(std::int64_t lowest, std::size_t count) const;
};

}  // namespace trainx::operations
