#include "plan/adapter.hpp"
#include "plan/step_cost.hpp"
#include "core/error.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/stages.hpp"
#include <algorithm>
#include <array>
#include <map>

namespace trainx::plan {
namespace {

using program::Gemm;
using program::Phase;

double compute_seconds(const Draft& plan, const program::ModelGraph& graph, int micro_steps,
                       program::ProductTimes& products) {
  auto p = passes::accumulation(program::plain_program(graph, plan.update), micro_steps);
  p = passes::activation_recomputation(std::move(p), graph, recompute_levels(plan.recipe.memory));
  double seconds = 0;
  for (const auto& i : p.steady)
    if (i.lane == program::Lane::compute) seconds += program::duration_s(i, p, graph, products);
  return seconds;
}

/// By m, n, k: layers have products of the same sizes.
using LostByProduct = std::map<std::array<std::int64_t, 3>, WorstProduct>;

void add_losses(StepCost& cost, LostByProduct& lost, const Phase& phase,
                const program::ModelGraph& graph, program::ProductTimes& products, double times) {
  const program::Rates& rates = products.rates();
  for (const Gemm& g : phase.gemms) {
    const double count = static_cast<double>(g.count) * times;
    const double lost_s = products.of(g, graph.compute).lost_s * count;
    Gemm aligned = g;
    aligned.n = (g.n + 7) / 8 * 8, aligned.k = (g.k + 7) / 8 * 8, aligned.m = (g.m + 7) / 8 * 8;
    const double tiles_s =
        g.row_alignment(graph.compute) == 16
            ? lost_s
            : std::min(lost_s, products.of(aligned, graph.compute).lost_s * count);
    cost.tiles_lost_s += tiles_s;
    cost.unaligned_lost_s += lost_s - tiles_s;
    WorstProduct& like = lost[{g.m, g.n, g.k}];
    like.product = g;
    like.lost_s += tiles_s;
  }
  if (phase.attention_flops > 0 && !phase.plain_attention && !phase.own_attention &&
      !phase.wide_attention && rates.attention_fill_rows <= 0) {
    // what the same would take, were the heads of the size that kernels are made for
    program::Phase filled = phase;
    if (program::has_fused_attention(phase.attention_head))
      filled.attention_head = program::fused_attention_head(phase.attention_head);
    const double filled_s = program::has_fused_attention(phase.attention_head)
                                ? program::attention_s(filled, rates)
                                : phase.attention_flops / rates.attention_flops_per_s;
    cost.heads_lost_s += (program::attention_s(phase, rates) - filled_s) * times;
  }
}

}  // namespace

StepShape shape_of(const Draft& plan) {
  return {plan.dims, plan.batch.micro_batch_size, plan.batch.grad_accum_steps,
          plan.row_lengths.back()};
}

StepCost step_cost(const Draft& plan, const StepShape& shape) {
  if (!plan.rates) throw InternalError("step_cost: the rates of this machine are not known");
  auto graph_options =
      architectures::GraphOptions::on_gpu(plan.recipe.run.deterministic, plan.compute_capability);
  tell_trained(plan, graph_options);
  const auto graph = architectures::model_graph(shape.dims, shape.micro_batch_size, shape.length,
                                                plan.compute, std::move(graph_options));
  program::ProductTimes products(*plan.rates);
  StepCost cost;
  cost.seconds = compute_seconds(plan, graph, 1, products);
  // the first micro-step overwrites gradients, each further one adds to them
  if (shape.grad_accum_steps > 1) {
    const double two = compute_seconds(plan, graph, 2, products);
    cost.seconds = two + static_cast<double>(shape.grad_accum_steps - 2) * (two - cost.seconds);
  }
  LostByProduct lost;
  for (const program::BlockSpec& block : graph.blocks)
    for (const program::Op op : {program::Op::forward, program::Op::loss, program::Op::backward})
      if (const auto phase = block.phases.find(op); phase != block.phases.end())
        add_losses(cost, lost, phase->second, graph, products,
                   static_cast<double>(shape.grad_accum_steps));
  for (const auto& [sizes, product] : lost)
    if (product.lost_s > cost.worst.lost_s) cost.worst = product;
  return cost;
}

namespace {

Draft with(const Draft& plan, const StepShape& shape) {
  Draft other = plan;
  other.dims = shape.dims;
  other.batch.micro_batch_size = shape.micro_batch_size;
  other.row_lengths = {shape.length};
  return other;
}

}  // namespace

bool ranks_can_share(const Draft& plan, const StepShape& shape) {
  return ranks_can_share(with(plan, shape));
}

std::int64_t bytes_of(const Draft& plan, const StepShape& shape) {
  Draft other = with(plan, shape);
  // further ones reuse the second's memory, of stages that of those under way
  other.batch.grad_accum_steps =
      std::min(shape.grad_accum_steps, std::max<std::int64_t>(2, micro_steps_under_way(plan)));
  return plan_memory_totals(other, plan_programs(other, Extent::bytes)).total_bytes();
}

}  // namespace trainx::plan
