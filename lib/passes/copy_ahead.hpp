// Brings what a program keeps on the host or on a disk to the device, where blocks need it.
#pragma once
#include "program/program.hpp"
#include <vector>

namespace trainx::passes {

/// Each use of a buffer for which `kept_away` holds gets a copy of it on the device, from one turn
/// before its first use to behind its last, or to where nobody needs it for long; what an update
/// writes goes back behind it. What comes from a disk or goes there passes through the host, and is
/// read `read_ahead` turns before it is needed there. `kept_away`: by buffer, all of them resident
/// and of groups. Uses on the host leave alone what lies there.
void copy_ahead(program::StepProgram& p, const std::vector<bool>& kept_away, int read_ahead);

}  // namespace trainx::passes
