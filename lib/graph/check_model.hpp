#pragma once
#include <string_view>

namespace trainx::graph {

struct Model;

/// What holds of every model: an operation reads tensors of the batch and values that operations
/// before it made; each value is made once, and has the type that its operation gives it; operands
/// are in range. `after`: the pass that was applied; "": none yet. InternalError with block,
/// operation and `after` for a model that is broken.
void check_model(const Model& model, std::string_view after);

}  // namespace trainx::graph
