#include "graph/model.hpp"
#include "graph/passes/graph_passes.hpp"

namespace trainx::graph {

using operations::ResidualNorm;

namespace {

/// Whether `norm` was joined to `sum`, before which it stood.
bool join_norm(Node& sum, Node& norm) {
  auto* adds = std::get_if<ResidualNorm>(&sum.operation);
  const auto* norms = std::get_if<ResidualNorm>(&norm.operation);
  // a sum of no model's own, behind an embedding's adapter, does not say what norms it knows
  if (!adds || !adds->adds || adds->norms || !norms || norms->adds || adds->rms != norms->rms ||
      adds->weight_offset != norms->weight_offset ||
      norm.inputs[ResidualNorm::residual] != sum.outputs[ResidualNorm::sum])
    return false;
  adds->norms = true;
  adds->epsilon = norms->epsilon;
  sum.parameters = norm.parameters;
  const ValueId residual = sum.outputs[ResidualNorm::sum];
  sum.outputs = norm.outputs;
  sum.outputs[ResidualNorm::sum] = residual;
  return true;
}

}  // namespace

void fuse_norms(Model& model, const GraphPassOptions&) {
  for (Block& block : model.blocks)
    for (std::size_t k = 0; k + 1 < block.ops.size(); ++k)
      if (join_norm(block.ops[k], block.ops[k + 1]))
        block.ops.erase(block.ops.begin() + static_cast<std::ptrdiff_t>(k) + 1);
}

}  // namespace trainx::graph
