#include "graph/passes/graph_passes.hpp"
#include "graph/passes/producers.hpp"

namespace trainx::graph {

using operations::Activated;
using operations::Linear;

void fuse_activation(Model& model, const GraphPassOptions&) {
  const Producers producers(model);
  for (Block& block : model.blocks)
    for (Node& op : block.ops) {
      auto* second = std::get_if<Linear>(&op.operation);
      if (!second || second->epilogue.makes_logits()) continue;
      const ValueId x = op.inputs[Linear::x];
      Node* before = producers.node(x);
      auto* first = before ? std::get_if<Linear>(&before->operation) : nullptr;
      if (!first || !first->epilogue.keeps_sum() || producers.readers(x) != 1) continue;
      second->input_activation = first->epilogue.activation;
      first->epilogue.activated = Activated::differentiated_behind;
      op.inputs[Linear::input_sum] = before->outputs[Linear::preactivation];
      op.parameters.resize(3);
      op.parameters[Linear::input_bias] = before->parameters[Linear::bias];
    }
}

}  // namespace trainx::graph
