// The one order in which passes are applied. A new pass is a file and a line here.
#pragma once
#include "program/program.hpp"

namespace trainx::passes {

enum class Pass : int {
  accumulation,
  activation_recomputation,
  casts_of_weights,
  pipeline,
  activation_offload,
  redistribute,
  distributed_data_parallel,
  data_parallel,
  zero,
  update_in_backward,
  optimizer_offload,
  parameter_offload,
  lower_collectives,
  frozen_weight_offload
};

/// Notes in `p` that `pass` is being applied. InternalError if that pass or a later one has been
/// applied already.
void enter(program::StepProgram& p, Pass pass);

}  // namespace trainx::passes
