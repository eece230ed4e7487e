#include "graph/passes/frozen.hpp"

namespace trainx::graph {

bool is_frozen(const Model& model, const ParameterId& id) {
  for (int k = 0; k < id.count && id.index != none; ++k)
    if (model.parameters[static_cast<std::size_t>(id.index + k)].training.trained) return false;
  return true;
}

}  // namespace trainx::graph
