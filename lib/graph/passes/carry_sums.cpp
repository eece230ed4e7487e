#include "graph/model.hpp"
#include "graph/passes/graph_passes.hpp"
#include <algorithm>
#include <iterator>

namespace trainx::graph {

using operations::ResidualNorm;

namespace {

bool sums_alone(const Node& op) {
  const auto* r = std::get_if<ResidualNorm>(&op.operation);
  return r && r->adds && !r->norms;
}

}  // namespace

void carry_sums(Model& model, const GraphPassOptions&) {
  for (std::size_t b = 0; b + 1 < model.blocks.size(); ++b) {
    if (model.blocks[b].kind != BlockKind::layer || model.blocks[b].closes) continue;
    std::vector<Node>& ops = model.blocks[b].ops;
    // the last: another may open the block
    const auto last = std::find_if(ops.rbegin(), ops.rend(), sums_alone);
    if (last == ops.rend()) continue;
    const auto from = last.base() - 1;
    std::vector<Node>& next = model.blocks[b + 1].ops;
    next.insert(next.begin(), std::make_move_iterator(from), std::make_move_iterator(ops.end()));
    ops.erase(from, ops.end());
  }
}

}  // namespace trainx::graph
