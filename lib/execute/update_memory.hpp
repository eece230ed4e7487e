// The operands of an update, or of the sums that it needs, as an optimizer takes them: on the host
// and on a GPU alike.
#pragma once
#include "optim/optimizer.hpp"
#include "execute/executor.hpp"
#include <functional>
#include <optional>

namespace trainx::execute {

struct UpdateMemory {
  optim::GroupMemory group;
  int round = 0;  // of the last sums over tensors that there are
};

/// Of an update or measure. `address`: where a use of the instruction lies, in memory of the host
/// or of the device. `own`: the group as this rank's updates see it. Points into `placed` and
/// `own`.
UpdateMemory update_memory(const plan::PlacedProgram& placed, const program::Instruction& i,
                           const program::LocalGroup& own,
                           const std::function<std::byte*(const program::Use&)>& address,
                           std::optional<std::uint64_t> rounding_seed);

}  // namespace trainx::execute
