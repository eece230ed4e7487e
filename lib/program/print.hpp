#pragma once
#include "program/model_graph.hpp"

namespace trainx::program {

/// A line per instruction: micro-step, op, block, @lane, what it reads > what it writes; `=`
/// overwrites a gradient, `+` accumulates, `~` modifies. Scratch, which lives only inside its
/// instruction, is not shown.
std::string print(const StepProgram& p, const ModelGraph* names = nullptr);
std::string print(const StepProgram& p, const std::vector<Instruction>& list,
                  const ModelGraph* names = nullptr);

}  // namespace trainx::program
