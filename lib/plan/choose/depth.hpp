// Recomputation in one number, as a search walks it.
#pragma once
#include "plan/decisions.hpp"
#include <vector>

namespace trainx::plan {

/// 0: nothing is recomputed; `layers`: all of them at the next level, ...; whole(): all of them at
/// the last level; then ever longer segments.
struct Depth {
  int layers = 1;
  // ascending, with what can have an effect on the model
  std::vector<RecomputeLevel> levels = {RecomputeLevel::none, RecomputeLevel::selective,
                                        RecomputeLevel::mlp, RecomputeLevel::full};
  std::int64_t least_segment = 1;  // memory.recompute_segment, as it is written
  int whole() const { return (static_cast<int>(levels.size()) - 1) * layers; }
  int most() const;
  void write(int depth, Decisions& choice) const;
};

/// The layers and levels of a plan's model.
Depth depth_of(const Draft& plan);

/// A single level if all layers have the same.
std::vector<RecomputeLevel> compressed(std::vector<RecomputeLevel> levels);

}  // namespace trainx::plan
