#include "graph/passes/frozen.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/number_values.hpp"
#include "graph/passes/producers.hpp"
#include <utility>

namespace trainx::graph {

using operations::Linear;
using operations::LowRank;

namespace {

/// Is it a product and a bias alone, of what the adapter reads, and for the adapter alone?
bool is_plain(const Model& model, const Producers& producers, const Node& layer,
              const Node& adapter) {
  const auto* linear = std::get_if<Linear>(&layer.operation);
  return linear && *linear == Linear{} && layer.inputs[Linear::x] == adapter.inputs[LowRank::x] &&
         producers.readers(layer.outputs[Linear::y]) == 1 &&
         is_frozen(model, layer.parameters[Linear::weight]) &&
         is_frozen(model, layer.parameters[Linear::bias]);
}

}  // namespace

void fuse_adapters(Model& model, const GraphPassOptions& options) {
  // quantize_parts has yet to find products that are in fp8
  if (options.tensor_ranks > 1 && options.fp8.layers != Fp8Layers::off) return;
  bool fuses = false;
  const Producers producers(model);
  for (Block& block : model.blocks) {
    std::vector<Node> ops;
    for (Node& op : block.ops) {
      // a layer's adapter follows it
      if (std::holds_alternative<LowRank>(op.operation) && !ops.empty() &&
          ops.back().outputs.size() > Linear::y &&
          ops.back().outputs[Linear::y] == op.inputs[LowRank::base] &&
          is_plain(model, producers, ops.back(), op)) {
        op.parameters[LowRank::weight] = ops.back().parameters[Linear::weight];
        op.parameters[LowRank::bias] = ops.back().parameters[Linear::bias];
        op.inputs[LowRank::base] = none;
        ops.pop_back();
        fuses = true;
      }
      ops.push_back(std::move(op));
    }
    block.ops = std::move(ops);
  }
  if (fuses) number_values(model);
}

}  // namespace trainx::graph
