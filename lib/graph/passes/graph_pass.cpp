#include "graph/passes/graph_pass.hpp"
#include "graph/check_model.hpp"
#include "graph/passes/graph_passes.hpp"

namespace trainx::graph {

std::span<const GraphPass> graph_passes() {
  static constexpr GraphPass in_order[] = {
      {"share_experts", share_experts},
      {"add_adapters", add_adapters},
      {"adapt_embeddings", adapt_embeddings},
      {"choose_trained", choose_trained},
      {"carry_sums", carry_sums},
      {"fuse_norms", fuse_norms},
      {"fuse_bias", fuse_bias},
      {"keep_sums", keep_sums},
      {"fuse_activation", fuse_activation},
      {"sum_attention_bias", sum_attention_bias},
      {"quantize", quantize},
      {"fuse_adapters", fuse_adapters},
      {"cut_frozen_head", cut_frozen_head},
      {"partition", partition},
      {"quantize_parts", quantize_parts},
      {"cut_rows", cut_rows},
  };
  return in_order;
}

void apply_graph_passes(Model& model, const GraphPassOptions& options,
                        const GraphPassObserver& observer) {
  check_model(model, "");
  if (observer) observer("", model);
  for (const GraphPass& pass : graph_passes()) {
    pass.apply(model, options);
    check_model(model, pass.name);
    if (observer) observer(pass.name, model);
  }
}

}  // namespace trainx::graph
