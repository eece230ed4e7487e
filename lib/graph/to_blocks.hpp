#pragma once
#include "graph/model.hpp"
#include <memory>

namespace trainx::graph {

/// What executors walk: one for each block of the graph. Layers that are alike share one.
struct Composition {
  std::vector<std::shared_ptr<const operations::BoundBlock>> blocks;
  std::vector<Fp8Product> fp8_products = {};  // Model's
};

/// The model as passes see it: each block's operands as slots, their uses by phase, what outputs
/// are computed from, products and launches. All of it follows from what operations say of
/// themselves; `composition` of the graph is set.
program::ModelGraph to_blocks(const Model& model);

}  // namespace trainx::graph
