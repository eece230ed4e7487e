#include "architectures/active_parameters.hpp"
#include "graph/to_blocks.hpp"
#include <set>

namespace trainx::architectures {

namespace {

/// Calls f(block, products, group, values) for each tensor of experts that a block reads.
template <class F>
void for_expert_parameters(const program::ModelGraph& graph, F f) {
  for (std::size_t b = 0; graph.composition && b < graph.blocks.size(); ++b)
    for (const operations::BoundOp& op : graph.composition->blocks[b]->forward) {
      const auto* experts = std::get_if<operations::GroupedLinear>(&op.operation);
      if (!experts) continue;
      for (const operations::BoundParameter& of : op.parameters) {
        const program::SlotSpec& slot = graph.blocks[b].slots[static_cast<std::size_t>(of.value)];
        const program::GroupSpec& group = graph.groups[static_cast<std::size_t>(slot.index)];
        const auto& parameters = group.in_blocks();
        for (int i = 0; i < of.count; ++i)
          f(graph.blocks[b], *experts, static_cast<std::size_t>(slot.index),
            static_cast<double>(parameters[static_cast<std::size_t>(of.first + i)].elements() *
                                group.parts.count));
      }
    }
}

}  // namespace

double idle_parameters(const program::ModelGraph& graph) {
  double idle = 0;
  for_expert_parameters(graph, [&](const program::BlockSpec&, const operations::GroupedLinear& of,
                                   std::size_t, double values) {
    idle += values * static_cast<double>(of.of_experts - of.per_token) /
            static_cast<double>(of.of_experts);
  });
  return idle;
}

ExpertParameters expert_parameters(const program::ModelGraph& graph) {
  ExpertParameters out{.by_group = std::vector<double>(graph.groups.size())};
  std::set<int> layers;
  for_expert_parameters(graph,
                        [&](const program::BlockSpec& block, const operations::GroupedLinear&,
                            std::size_t group, double values) {
                          layers.insert(block.layer);
                          out.by_group[group] += values;
                        });
  out.layers = std::ssize(layers);
  return out;
}

std::int64_t experts_of(const ModelDims& dims) {
  if (const auto* gpt2 = std::get_if<Gpt2Dims>(&dims)) return gpt2->num_experts;
  const auto* decoder = std::get_if<DecoderDims>(&dims);
  return decoder && decoder->experts ? decoder->experts.router.experts : 0;
}

std::int64_t experts_per_token(const ModelDims& dims) {
  if (const auto* gpt2 = std::get_if<Gpt2Dims>(&dims))
    return gpt2->num_experts > 0 ? gpt2->num_experts_per_tok : 0;
  const auto* decoder = std::get_if<DecoderDims>(&dims);
  return decoder && decoder->experts ? decoder->experts.router.per_token : 0;
}

double capacity_factor(const ModelDims& dims) {
  const auto* gpt2 = std::get_if<Gpt2Dims>(&dims);
  return gpt2 && gpt2->num_experts > 0 ? gpt2->capacity_factor : 0;
}

ModelDims without_capacity(ModelDims dims) {
  if (capacity_factor(dims) > 0) std::get<Gpt2Dims>(dims).capacity_factor = 0;
  return dims;
}

}  // namespace trainx::architectures
