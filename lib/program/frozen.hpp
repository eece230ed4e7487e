// Weights that no step changes.
#pragma once
#include "program/model_graph.hpp"

namespace trainx::program {

/// Are they parameters that are neither trained nor balanced?
inline bool is_frozen(const ModelGraph& graph, const Buffer& b) {
  if (b.role != Role::parameter) return false;
  const GroupSpec& group = graph.groups[static_cast<std::size_t>(b.index)];
  return !group.training.trained && !is_balanced(group);
}

}  // namespace trainx::program
