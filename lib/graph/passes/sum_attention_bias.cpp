#include "operations/attention/attention_gpu_spec.hpp"
#include "graph/passes/graph_passes.hpp"
#include "graph/passes/producers.hpp"

namespace trainx::graph {

using operations::Attention;
using operations::Linear;

void sum_attention_bias(Model& model, const GraphPassOptions&) {
  if (!model.gpu) return;
  const Producers producers(model);
  for (Block& block : model.blocks)
    for (Node& op : block.ops) {
      auto* attention = std::get_if<Attention>(&op.operation);
      if (!attention) continue;
      const ValueId x = op.inputs[Attention::qkv];
      Node* before = producers.node(x);
      auto* linear = before ? std::get_if<Linear>(&before->operation) : nullptr;
      if (!linear || linear->epilogue.activates() ||
          before->parameters[Linear::bias].index == none || producers.readers(x) != 1 ||
          !attention->is_plain() || attention->head_size != 64 ||
          attention->mask == operations::AttentionMask::documents ||
          !is_by_hopper(*attention, model.compute))
        continue;
      attention->sums_bias = true;
      linear->epilogue.bias_sum = operations::BiasSum::in_attention;
      op.parameters.resize(Attention::qkv_bias + 1);
      op.parameters[Attention::qkv_bias] = before->parameters[Linear::bias];
    }
}

}  // namespace trainx::graph
