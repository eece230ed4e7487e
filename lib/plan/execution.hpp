// Whether steps are replayed as CUDA graphs or launched one instruction after another.
#pragma once
#include "plan/draft.hpp"

namespace trainx::plan {

/// Why steps cannot be replayed as CUDA graphs; empty: they can, or the run is on a CPU.
std::string why_eager(const Draft& plan);

/// Resolves recipe.run.execution; needs on_gpu, dims and own_rule. Throws UserError 78 if it asks
/// for graphs that cannot be.
void choose_execution(Draft& plan);

}  // namespace trainx::plan
