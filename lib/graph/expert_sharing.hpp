// How neighbouring ranks share the experts of each layer.
#pragma once
#include <cstdint>

namespace trainx::graph {

/// Each rank has as many of the experts, and a slot for the tokens of each other rank that chose
/// one of them. A token has one row there, whichever of the rank's experts it chose.
struct ExpertSharing {
  std::int64_t ranks = 1;
  // Choices of a rank's experts that one rank's tokens may make, times those that they would make
  // if all experts were chosen as often; 0: any.
  double capacity = 0;
  bool drops = false;  // choices beyond that; else they are an error
  bool operator==(const ExpertSharing&) const = default;
  /// Most choices of one rank's experts, of tokens that choose `per_token` of the experts each.
  std::int64_t choices(std::int64_t tokens, std::int64_t per_token, std::int64_t experts) const;
  /// ... that a slot has room for; 0: for any.
  std::int64_t room(std::int64_t tokens, std::int64_t per_token, std::int64_t experts) const;
  /// Rows of a slot.
  std::int64_t rows(std::int64_t tokens, std::int64_t per_token, std::int64_t experts) const;
};

}  // namespace trainx::graph
