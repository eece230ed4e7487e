#include "plan/claims.hpp"
#include "spec/arch/library_bytes.hpp"

namespace trainx::plan {

using program::Op;
using recipe::ActivationCheckpoint;

namespace {

std::int64_t backward_calls(const RunPlan& plan, const program::ModelGraph& graph) {
  const std::int64_t micro = plan.batch.micro_batch_size;
  return std::visit(
      [&](const auto& d) -> std::int64_t {
        if constexpr (requires { d.num_heads; })
          return spec::attention_backward_calls({micro, graph.tokens / micro, d.hidden_size, d.hidden_size / d.num_heads, plan.compute}, plan.recipe.run.deterministic);
        else
          return 1;
      },
      plan.dims);
}

}  // namespace

StepClaims claims_of(const RunPlan& plan, const program::ModelGraph& graph, std::int64_t target_rows) {
  StepClaims claims;
  const bool everything = plan.recipe.memory.activation_checkpoint == ActivationCheckpoint::full;
  const auto turns = [&](std::int64_t rows) { return (rows + graph.target_chunk - 1) / graph.target_chunk; };
  for (const program::BlockSpec& block : graph.blocks) {
    const bool in_turns = target_rows > 0 && graph.target_chunk > 0 && &block == &graph.blocks.back();
    std::int64_t products = 0;
    for (const Op op : {Op::forward, Op::backward, Op::loss}) {
      const auto phase = block.phases.find(op);
      if (phase == block.phases.end()) continue;
      for (const program::Gemm& g : phase->second.gemms) products += g.count;
      if (phase->second.attention_flops == 0) continue;
      if (op == Op::backward) ++claims.attention_backward;
      else claims.attention_forward += everything ? 2 : 1;
    }
    claims.matrix_products += in_turns ? products / turns(graph.target_rows) * turns(target_rows) : products;
  }
  claims.products_recomputed = everything;
  const std::int64_t micro_steps = plan.batch.grad_accum_steps;
  claims.attention_forward *= micro_steps;
  claims.attention_backward *= micro_steps * backward_calls(plan, graph);
  claims.matrix_products *= micro_steps;
  claims.update = std::holds_alternative<spec::AdamWOptions>(plan.recipe.optimizer.options) ? "adamw_kernel" : "SgdRule";
  const bool low = plan.compute == DType::bf16, split = !plan.recipe.precision.master.is_auto() && *plan.recipe.precision.master.value == recipe::MasterWeights::split;
  claims.weights = !low ? "Fp32Weights" : split || plan.recipe.precision.master.is_auto() ? "SplitWeights" : "MasterWeights";
  return claims;
}

}  // namespace trainx::plan
