#pragma once
#include <compare>
#include <cstdint>

namespace trainx::operations {

/// What the host knows of a step's batches, where it decides what is launched: steps that need
/// other launches have graphs of their own.
struct BatchNeeds {
  bool padded = true;  // a sample is shorter than its row
  // rows that a head computes which computes rows with a target alone: at least as many as a
  // micro-batch has
  std::int64_t target_rows = 0;

  friend auto operator<=>(const BatchNeeds&, const BatchNeeds&) = default;
};

}  // namespace trainx::operations
