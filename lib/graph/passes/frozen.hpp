// Whether a model's operand is trained.
#pragma once
#include "graph/model.hpp"

namespace trainx::graph {

/// Is none of it trained? True where there is no such operand.
bool is_frozen(const Model& model, const ParameterId& id);

}  // namespace trainx::graph
