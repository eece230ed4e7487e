#include "architectures/active_parameters.hpp"
#include "graph/to_blocks.hpp"

namespace trainx::architectures {

double idle_parameters(const program::ModelGraph& graph) {
  double idle = 0;
  for (std::size_t b = 0; graph.composition && b < graph.blocks.size(); ++b)
    for (const operations::BoundOp& op : graph.composition->blocks[b]->forward) {
      const auto* experts = std::get_if<operations::GroupedLinear>(&op.operation);
      if (!experts) continue;
      for (const operations::BoundParameter& of : op.parameters) {
        const program::SlotSpec& slot = graph.blocks[b].slots[static_cast<std::size_t>(of.value)];
        const program::GroupSpec& group = graph.groups[static_cast<std::size_t>(slot.index)];
        const auto& parameters = group.in_blocks();
        for (int i = 0; i < of.count; ++i)
          idle += static_cast<double>(
                      parameters[static_cast<std::size_t>(of.first + i)].elements() * group.parts) *
                  static_cast<double>(experts->of_experts - experts->per_token) /
                  static_cast<double>(experts->of_experts);
      }
    }
  return idle;
}

std::int64_t experts_of(const ModelDims& dims) {
  const auto* decoder = std::get_if<DecoderDims>(&dims);
  return decoder && decoder->experts ? decoder->experts.router.experts : 0;
}

}  // namespace trainx::architectures
