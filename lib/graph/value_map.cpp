#include "graph/value_map.hpp"
#include <algorithm>

namespace trainx::graph {

ValueMap::ValueMap(const Model& model) {
  const std::size_t n = model.values.size();
  producer.assign(n, none);
  index.assign(n, none);
  home.assign(n, none);
  last_writer.assign(n, none);
  outside.assign(n, 0);
  wanted.assign(n, 0);
  const auto at = [](ValueId v) { return static_cast<std::size_t>(v); };
  std::vector<char> crosses(n);
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    for (const Node& op : model.blocks[b].ops) {
      for (const ValueId v : op.outputs)
        if (v != none) producer[at(v)] = static_cast<int>(b);
      for (const ValueId v : op.inputs)
        if (v != none && producer[at(v)] != none && producer[at(v)] != static_cast<int>(b))
          crosses[at(v)] = true;
    }
  // as blocks make them: a block's values follow those of the block before
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      for (const ValueId v : op.outputs)
        if (v != none && crosses[at(v)])
          index[at(v)] = static_cast<int>(crossing.size()), crossing.push_back(v);
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    std::vector<NodeFacts>& of_block = facts.emplace_back();
    of_block.reserve(model.blocks[b].ops.size());
    for (const Node& op : model.blocks[b].ops) {
      NodeFacts& f = of_block.emplace_back(NodeFacts{model.types_of(op), {}, {}});
      for (std::size_t i = 0; i < op.inputs.size(); ++i)
        f.types.constant_inputs.push_back(op.inputs[i] == none ||
                                          !wanted[at(target_of(op, static_cast<int>(i)))]);
      f.outputs = outputs_of(op.operation, f.types);
      f.backward = backward_of(op.operation, f.types);
      // a parameter's gradient may also be a by-product of a later operation
      const bool trains = std::ranges::any_of(op.parameters, [&](const ParameterId& p) {
        return p.index != none && model.parameters[at(p.index)].training.trained;
      });
      for (const ValueId v : op.outputs)
        if (v != none) wanted[at(v)] = trains || f.backward.is_needed();
      for (const operations::InputGradient& g : f.backward.inputs) {
        // the gradient of a value that is cast here belongs to the value before the cast
        const ValueId read = op.inputs[at(g.input)],
                      v = read != none && producer[at(read)] == static_cast<int>(b)
                              ? target_of(op, g.input)
                              : read;
        if (g.unused || v == none || producer[at(v)] == none ||
            producer[at(v)] == static_cast<int>(b))
          continue;
        const ValueId target = target_of(op, g.input);
        outside[at(target)] = true;
        if (g.same_as != program::none) {
          const ValueId like = target_of(op, g.same_as);
          home[at(target)] = home[at(like)] != none ? home[at(like)] : op.inputs[at(g.same_as)];
          continue;
        }
        if (home[at(target)] == none) home[at(target)] = v;
        int& last = last_writer[at(home[at(target)])];
        last = std::max(last, static_cast<int>(b));
      }
    }
  }
}

}  // namespace trainx::graph
