// An optimizer's update of one group where all that it touches is host memory: on a CPU, and beside
// a GPU where the optimizer is offloaded.
#pragma once
#include "execute/executor.hpp"
#include <cstdint>

namespace trainx::execute {

/// `address`: where a use of the instruction lies. `own`: the group as this rank's updates see it.
void update_on_host(const plan::PlacedProgram& placed, const program::Instruction& i,
                    const program::LocalGroup& own,
                    const std::function<std::byte*(const program::Use&)>& address,
                    const ExecutorParts& parts);

/// The table's last entry holds beyond its end.
double learning_rate_at(const double* table, std::int64_t entries, std::int64_t applied_steps);

}  // namespace trainx::execute
