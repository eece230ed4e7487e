// How neighbouring ranks share the experts of each layer.
#pragma once
#include <cstdint>

namespace trainx::graph {

/// Each rank has as many of the experts, and room for the rows that another has for them: a slot.
struct ExpertSharing {
  std::int64_t ranks = 1;
  // rows of a slot, times those that it would have if all experts had as many; 0: room for any
  // choice
  double capacity = 0;
  bool drops = false;  // choices beyond that; else they are an error
  bool operator==(const ExpertSharing&) const = default;
  /// Rows of a slot, of tokens that choose `per_token` of the experts each.
  std::int64_t rows(std::int64_t tokens, std::int64_t per_token, std::int64_t experts) const;
};

}  // namespace trainx::graph
