#include <algorithm>
#include "graph/passes/frozen.hpp"
#include "graph/passes/graph_passes.hpp"

namespace trainx::graph {

namespace {

// Products of so many rows and a vocabulary's columns keep a GPU busy.
constexpr std::int64_t busy_rows = 2048;
constexpr std::int64_t even_rows = 64;

std::int64_t quotient_up(std::int64_t of, std::int64_t by) { return (of + by - 1) / by; }

}  // namespace

void cut_frozen_head(Model& model, const GraphPassOptions&) {
  Head& head = model.head;
  if (!model.gpu || head.rows != operations::HeadRows::all || head.chunk <= busy_rows) return;
  for (const Block& block : model.blocks)
    for (const Node& op : block.ops)
      if (block.kind == BlockKind::head && std::holds_alternative<operations::Linear>(op.operation))
        for (const ParameterId& id : op.parameters)
          if (!is_frozen(model, id)) return;
  const std::int64_t rows = model.target_rows(), chunks = quotient_up(rows, busy_rows);
  head.chunk = std::min(head.chunk, quotient_up(quotient_up(rows, chunks), even_rows) * even_rows);
}

}  // namespace trainx::graph
