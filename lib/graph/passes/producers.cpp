#include "graph/passes/producers.hpp"

namespace trainx::graph {

Producers::Producers(Model& model)
    : model_(model), places_(model.values.size()), readers_(model.values.size()) {
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    for (std::size_t k = 0; k < model.blocks[b].ops.size(); ++k) {
      const Node& op = model.blocks[b].ops[k];
      for (const ValueId v : op.outputs)
        if (v != none)
          places_[static_cast<std::size_t>(v)] = {static_cast<int>(b), static_cast<int>(k)};
      for (const ValueId v : op.inputs)
        if (v != none) ++readers_[static_cast<std::size_t>(v)];
    }
}

Node* Producers::node(ValueId value) const {
  const Place& p = of(value);
  if (p.block == none) return nullptr;
  return &model_.blocks[static_cast<std::size_t>(p.block)].ops[static_cast<std::size_t>(p.op)];
}

}  // namespace trainx::graph
