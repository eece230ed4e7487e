// Which layers of a planned model multiply operands in fp8.
#pragma once
#include "graph/fp8_options.hpp"
#include "plan/draft.hpp"
#include "program/model_graph.hpp"

namespace trainx::plan {

struct Fp8Count {
  int layers = 0;    // with linear layers in fp8
  int left_out = 0;  // linear layers that were and have fallen back (Draft::fp8_fallback)
  int others = 0;    // that were to be, of which a size does not fit a GPU's products
  int small = 0;     // that gain nothing (precision.small_products)
};
Fp8Count count_fp8(const program::ModelGraph& graph, graph::Fp8Layers which);

/// By which products that gain nothing are found; nullopt: all are in fp8.
std::optional<graph::Fp8Costs> fp8_costs(const Draft& plan);

/// Throws UserError 78 if precision.first_last leaves no layer to precision.products.
void require_layer_in_fp8(const Draft& plan);
/// Throws UserError 78 if no product of the layers has sizes that a GPU multiplies in fp8.
void require_products_in_fp8(const Draft& plan, const program::ModelGraph& graph);

}  // namespace trainx::plan
