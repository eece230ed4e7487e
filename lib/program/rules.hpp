// What must hold of a program on every machine and for every model.
#pragma once
#include "program/memory.hpp"

namespace trainx::program {

/// Lanes of collectives, operands of one instruction that share bytes, reads of bytes that are not
/// (or no longer) the buffer's, writes that are never read. Walks `once`, then `steady` thrice.
/// Returns the first problem as a sentence.
std::string check_rules(const StepProgram& p, const Placement& at);

}  // namespace trainx::program
