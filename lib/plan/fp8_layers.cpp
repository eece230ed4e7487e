#include "plan/fp8_layers.hpp"
#include "graph/to_blocks.hpp"
#include <algorithm>
#include <set>

namespace trainx::plan {

Fp8Count count_fp8(const program::ModelGraph& graph, graph::Fp8Layers which) {
  Fp8Count count;
  if (!graph.composition || which == graph::Fp8Layers::off) return count;
  const int last = graph.layers() - 1;
  std::set<int> layers;
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    const int layer = graph.blocks[b].layer;
    if (layer == program::none) continue;
    if (which == graph::Fp8Layers::inner && (layer == 0 || layer == last)) continue;
    for (const operations::BoundOp& op : graph.composition->blocks[b]->forward)
      if (const auto* linear = std::get_if<operations::Linear>(&op.operation)) {
        if (linear->fp8)
          layers.insert(layer);
        else
          ++count.others;
      }
  }
  count.left_out = static_cast<int>(
      std::ranges::count_if(graph.composition->fp8_products, &graph::Fp8Product::left_out));
  count.others -= count.left_out;
  count.layers = static_cast<int>(layers.size());
  return count;
}

}  // namespace trainx::plan
