#include "graph/passes/graph_passes.hpp"
#include "graph/passes/producers.hpp"
#include <utility>

namespace trainx::graph {

using operations::Linear;
using operations::LowRank;
using operations::ResidualNorm;

void fuse_bias(Model& model, const GraphPassOptions&) {
  const Producers producers(model);
  for (Block& block : model.blocks)
    for (Node& op : block.ops) {
      const auto* sum = std::get_if<ResidualNorm>(&op.operation);
      if (!sum || !sum->adds) continue;
      Node* branch = producers.node(op.inputs[ResidualNorm::branch]);
      // an adapter adds to what its layer makes
      if (branch && std::holds_alternative<LowRank>(branch->operation))
        branch = producers.node(branch->inputs[LowRank::base]);
      const auto* linear = branch ? std::get_if<Linear>(&branch->operation) : nullptr;
      if (!linear || linear->epilogue.activates() || branch->parameters[Linear::bias].index == none)
        continue;
      op.parameters.resize(5);
      op.parameters[ResidualNorm::bias] = std::exchange(branch->parameters[Linear::bias], {});
    }
}

}  // namespace trainx::graph
