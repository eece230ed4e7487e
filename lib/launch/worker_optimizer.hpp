// Optimizers of a worker of the user's own: what their rules take on a GPU.
#pragma once
#include "facts/facts.hpp"

namespace trainx::launch {

/// Where the recipe's optimizer is of the user's own, computes with tensors and runs on a GPU of
/// this machine: lets the worker measure its rule there, and puts that into the facts. Throws
/// UserError 78 for a rule that fails, 69 where the worker cannot be asked.
void measure_optimizer(const recipe::Recipe& recipe, facts::Facts& facts);

}  // namespace trainx::launch
