// Which groups of ranks, beside that of all, a run's programs need communicators for.
#pragma once
#include "plan/roles.hpp"
#include <set>

namespace trainx::plan {

/// Along what collectives of the programs are made and buffers cut, each set as Mesh::significant
/// has it, without those along which all ranks differ or none.
std::set<program::AxisSet> rank_groups_of(const Programs& programs);
/// Of all roles: all ranks make the communicators of each group together.
std::set<program::AxisSet> rank_groups_of(const ProgramSet& set);

}  // namespace trainx::plan
