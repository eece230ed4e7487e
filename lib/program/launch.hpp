// How a GPU is given a program: what runs beside its computation, and where one launch ends and the
// next begins.
#pragma once
#include "program/program.hpp"

namespace trainx::program {

/// Copies, transfers with the disk, collectives and work of the host, in their lanes. All else a
/// GPU computes one after the other.
bool runs_async(const Instruction& i);

/// Where a step ends with updates that the host makes and what hangs on them, they run beside the
/// beginning of the next step: a launch goes from the first of them, this position, over the end to
/// the same position. 0: a launch is a step. Everything of a launch is done before the next one
/// begins.
std::size_t launch_begin(const StepProgram& p);

}  // namespace trainx::program
