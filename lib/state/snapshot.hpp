#pragma once
#include "execute/arena.hpp"
#include "state/resident_state.hpp"

namespace trainx::state {

/// A copy of a run's exact weights and optimizer states, from which a checkpoint is written while
/// steps change the originals. For residents that lie whole.
class Snapshot {
 public:
  Snapshot(const plan::PlacedProgram& placed, const std::vector<program::StateSpec>& states);
  /// Copies, with all threads; at rest. What was copied before goes.
  const ResidentState& take(const ResidentMemory& residents);

 private:
  const plan::PlacedProgram& placed_;
  execute::Arena arena_, host_;  // resident buffers at their places
  ResidentState state_;
};

}  // namespace trainx::state
