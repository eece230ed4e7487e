#include "plan/fp8_layers.hpp"
#include "core/error.hpp"
#include "graph/to_blocks.hpp"
#include "plan/precision.hpp"
#include "plan/programs.hpp"
#include "plan/weight_casts.hpp"
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
      } else if (const auto* adapter = std::get_if<operations::LowRank>(&op.operation);
                 adapter && op.parameters[operations::LowRank::weight].value != program::none) {
        ++count.others;
      }
  }
  for (const graph::Fp8Product& p : graph.composition->fp8_products)
    if (p.left_out) ++(p.gains_nothing ? count.small : count.left_out);
  count.others -= count.left_out + count.small;
  count.layers = static_cast<int>(layers.size());
  return count;
}

std::optional<graph::Fp8Costs> fp8_costs(const Draft& plan) {
  const recipe::PrecisionSection& precision = plan.recipe.precision;
  if (precision.small_products == recipe::Products::fp8 || !plan.on_gpu || !plan.rates ||
      plan.rates->fp8_cast_s <= 0 || fp8_layers_of(precision) == graph::Fp8Layers::off ||
      casts_weights_before_gathers(plan))
    return std::nullopt;
  return graph::Fp8Costs{*plan.rates, plan.batch.micro_batch_size * plan.row_lengths.back(),
                         plan.batch.grad_accum_steps};
}

void require_layer_in_fp8(const Draft& plan) {
  if (fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::inner) return;
  const int layers = graph_of(plan, plan.row_lengths.back(), plan.compute).layers();
  if (layers <= 2)
    throw UserError(ExitCode::invalid_recipe,
                    "precision.first_last is compute, which leaves precision.products: fp8 no "
                    "layer: the model has " +
                        std::to_string(layers) + "; write first_last: fp8, or products: compute");
}

void require_products_in_fp8(const Draft& plan, const program::ModelGraph& graph) {
  const graph::Fp8Layers which = fp8_layers_of(plan.recipe.precision);
  if (which == graph::Fp8Layers::off || !plan.fp8_fallback.empty() ||
      count_fp8(graph, which).layers > 0 || count_fp8(graph, which).small > 0)
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
