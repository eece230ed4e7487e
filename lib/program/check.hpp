// check_program: what can be known of a program without running it. The same before and after
// placement.
#pragma once
#include "program/memory.hpp"
#include "program/plain.hpp"

namespace trainx::program {

/// What the program should mean: this model, trained sequentially on micro_steps * mesh.world
/// micro-batches a step.
struct Reference {
  const ModelGraph* graph = nullptr;
  UpdateSpec update;
  int micro_steps = 1;
  bool update_reads_norm2 = true;  // clipping and the guard against non-finite gradients
  // a group is updated as soon as nothing more is added to its gradient and nobody reads its
  // parameters again: guarded by the norm of the gradients known by then
  bool update_in_backward = false;
  // by group: its update reads the gradient rounded to bf16, while the norm is of the exact one.
  // Empty: none does
  std::vector<bool> rounded_gradients = {};
};

/// Runs the program over hashed symbolic expressions (only + commutes), all ranks in lockstep,
/// three steps, and compares every resident buffer with the reference; tags each address with its
/// buffer, so that a read of bytes another buffer took is seen; refuses writes that are never read,
/// and a group, counter or report of the reference that no rank has. Returns the first problem as a
/// sentence, empty when there is none. Without a reference only the local rules are checked.
std::string check_program(const StepProgram& p, const Placement& at,
                          const Reference* reference = nullptr);

/// The same where ranks have different roles: the program and placement of each rank.
struct RankProgram {
  const StepProgram* program;
  const Placement* at;
};
std::string check_program(const std::vector<RankProgram>& ranks,
                          const Reference* reference = nullptr);

}  // namespace trainx::program
