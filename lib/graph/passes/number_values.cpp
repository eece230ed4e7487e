#include "graph/passes/number_values.hpp"
#include "graph/model.hpp"
#include <algorithm>
#include <utility>

namespace trainx::graph {

void number_values(Model& model) {
  std::vector<ValueId> now(model.values.size(), none);
  std::vector<ModelValue> values;
  const auto keep = [&](ValueId v) {
    if (v == none || now[static_cast<std::size_t>(v)] != none) return;
    now[static_cast<std::size_t>(v)] = static_cast<ValueId>(values.size());
    values.push_back(model.values[static_cast<std::size_t>(v)]);
  };
  std::vector<char> made(model.values.size());
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      for (const ValueId v : op.outputs)
        if (v != none) made[static_cast<std::size_t>(v)] = true;
  for (std::size_t v = 0; v < made.size(); ++v)
    if (!made[v]) keep(static_cast<ValueId>(v));  // the batch's, and what is read no more
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      for (const ValueId v : op.outputs) keep(v);
  model.values = std::move(values);
  const auto renumber = [&](ValueId& v) {
    if (v != none) v = now[static_cast<std::size_t>(v)];
  };
  for (Block& block : model.blocks)
    for (Node& op : block.ops)
      for (auto* list : {&op.inputs, &op.outputs, &op.gradient_of})
        std::ranges::for_each(*list, renumber);
  renumber(model.positions);
  renumber(model.memory);
  renumber(model.head.targets);
}

}  // namespace trainx::graph
