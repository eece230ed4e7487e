#include "plan/fp8_layers.hpp"
#include "core/error.hpp"
#include "graph/to_blocks.hpp"
#include "plan/precision.hpp"
#include "plan/programs.hpp"
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

void require_layer_in_fp8(const Decisions& plan) {
  if (fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::inner) return;
  const int layers = graph_of(plan, plan.row_lengths.back(), plan.compute).layers();
  if (layers <= 2)
    throw UserError(ExitCode::invalid_recipe,
                    "precision.first_last is compute, which leaves precision.products: fp8 no "
                    "layer: the model has " +
                        std::to_string(layers) + "; write first_last: fp8, or products: compute");
}

void require_products_in_fp8(const Decisions& plan, const program::ModelGraph& graph) {
  const graph::Fp8Layers which = fp8_layers_of(plan.recipe.precision);
  if (which == graph::Fp8Layers::off || !plan.fp8_fallback.empty() ||
      count_fp8(graph, which).layers > 0)
    return;
  throw UserError(
      ExitCode::invalid_recipe,
      "precision.products is fp8, which a GPU multiplies where the sizes of weights and "
      "the tokens of a micro-batch are multiples of 16: none of the model's products "
      "are (tokens: " +
          std::to_string(graph.tokens) +
          "); change batch.micro_batch_size or model.options, or write products: "
          "compute");
}

}  // namespace trainx::plan
