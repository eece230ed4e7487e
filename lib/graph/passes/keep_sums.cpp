#include "graph/passes/graph_passes.hpp"
#include "graph/passes/producers.hpp"

namespace trainx::graph {

using operations::ResidualNorm;

namespace {

/// The operation of an earlier block that sums and norms what `sum` adds to; null: there is none.
const Node* norm_before(const Producers& producers, const Node& sum, int block) {
  const ValueId residual = sum.inputs[ResidualNorm::residual];
  const Node* norm = producers.node(residual);
  if (!norm || producers.block(residual) == block) return nullptr;
  const auto* n = std::get_if<ResidualNorm>(&norm->operation);
  // one of any form, behind an embedding's adapter, may have no weight
  const bool is_norm = n && n->norms && n->adds && !n->any_form &&
                       norm->outputs[ResidualNorm::normed] == residual;
  return is_norm ? norm : nullptr;
}

}  // namespace

void keep_sums(Model& model, const GraphPassOptions&) {
  const Producers producers(model);
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    for (Node& op : model.blocks[b].ops) {
      const auto* sum = std::get_if<ResidualNorm>(&op.operation);
      // the loops of any form know no other norm
      if (!sum || !sum->adds || sum->any_form) continue;
      const Node* norm = norm_before(producers, op, static_cast<int>(b));
      if (!norm) continue;
      op.parameters.resize(5);
      op.parameters[ResidualNorm::before_weight] = norm->parameters[ResidualNorm::weight];
      op.parameters[ResidualNorm::before_shift] = norm->parameters[ResidualNorm::shift];
      op.gradient_of.assign(op.inputs.begin(), op.inputs.end());
      op.inputs[ResidualNorm::residual] = norm->outputs[ResidualNorm::sum];
    }
}

}  // namespace trainx::graph
