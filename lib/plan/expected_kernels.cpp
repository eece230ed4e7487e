#include "plan/expected_kernels.hpp"
#include "graph/to_blocks.hpp"
#include "plan/choose/offload.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include "operations/quantize/quantize_spec.hpp"
#include "plan/precision.hpp"
#include "plan/stages.hpp"
#include "program/shards.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <map>
#include <set>

namespace trainx::plan {

using program::Op;

namespace {

bool packed(const Draft& plan) { return options::packs_documents(plan.recipe.data.source); }

std::vector<operations::Attention> attention_of(const program::ModelGraph& graph,
                                                const program::BlockSpec& block) {
  std::vector<operations::Attention> all;
  if (!graph.composition) return all;
  const auto at = static_cast<std::size_t>(&block - graph.blocks.data());
  for (const operations::BoundOp& op : graph.composition->blocks.at(at)->forward)
    if (const auto* a = std::get_if<operations::Attention>(&op.operation)) all.push_back(*a);
  return all;
}

// How many operations of a step are the last that have to do with some group of parameters: behind
// each of them is an update of the groups that are trained alike.
std::int64_t places_of_updates(const program::ModelGraph& graph) {
  std::map<int, std::pair<Op, const program::BlockSpec*>> last;  // by group
  const auto use = [&](const program::BlockSpec& block, Op op) {
    if (const auto phase = block.phases.find(op); phase != block.phases.end())
      for (const program::SlotUse& u : phase->second.uses)
        if (const program::SlotSpec& s = block.slots[static_cast<std::size_t>(u.slot)];
            s.role == program::Role::parameter || s.role == program::Role::gradient)
          if (graph.groups[static_cast<std::size_t>(s.index)].training.trained)
            last[s.index] = {op, &block};
  };
  for (const program::BlockSpec& block : graph.blocks) use(block, Op::loss);
  for (std::size_t b = graph.blocks.size(); b-- > 0;) use(graph.blocks[b], Op::backward);
  std::map<std::pair<Op, const program::BlockSpec*>, std::vector<program::GroupTraining>> places;
  std::int64_t launches = 0;
  for (const auto& [group, place] : last) {
    const program::GroupTraining& training = graph.groups[static_cast<std::size_t>(group)].training;
    auto& there = places[place];
    if (std::ranges::find(there, training) != there.end()) continue;
    there.push_back(training);
    ++launches;
  }
  return launches;
}

/// What a rank has of the graph: all, or what its stage of a pipeline computes and keeps.
struct OwnParts {
  std::vector<const program::BlockSpec*> blocks;
  std::set<int> groups, groups_with_gradients;
  std::vector<bool> has_block;
};

OwnParts own_parts(const Draft& plan, const program::ModelGraph& graph, int stage) {
  OwnParts own;
  const bool staged = plan.mesh.pipeline > 1;
  const auto cut = staged ? pipeline_cut(plan, graph) : program::PipelineCut{};
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    own.has_block.push_back(!staged || cut.stage_of_block(static_cast<int>(b)) == stage);
    if (own.has_block.back()) own.blocks.push_back(&graph.blocks[b]);
  }
  const auto stages = staged ? program::stages_of_groups(graph, cut)
                             : std::vector<std::vector<int>>(graph.groups.size(), {stage});
  for (std::size_t g = 0; g < stages.size(); ++g)
    if (std::ranges::count(stages[g], stage) > 0) own.groups.insert(static_cast<int>(g));
  for (const program::BlockSpec& block : graph.blocks)
    for (const program::SlotSpec& s : block.slots)
      if (s.role == program::Role::gradient && own.groups.contains(s.index))
        own.groups_with_gradients.insert(s.index);
  return own;
}

// Of what a layer before the last one keeps for backward, without the small things beside it; of
// one that is recomputed as a whole, which keeps a hidden, nothing is said.
std::int64_t least_offloaded_bytes(const program::ModelGraph& graph,
                                   const program::BlockSpec& block, RecomputeLevel level) {
  const bool attends = block.phases.contains(Op::forward) &&
                       block.phases.at(Op::forward).attention_flops > 0;
  if (block.layer == program::none || block.layer + 1 >= graph.layers() ||
      level == RecomputeLevel::full || (level == RecomputeLevel::mlp && !attends))
    return 0;
  std::int64_t kept = 0;
  for (const program::SlotSpec& s : block.slots)
    if (s.role == program::Role::saved && s.space == program::Space::device &&
        !(s.cheap && level != RecomputeLevel::none))
      kept += s.tensor.bytes();
  return kept / 4 * 3;
}

// What the name of an optimizer's kernel holds.
std::string kernel_of(const options::AdamWOptions&) { return "adamw_kernel"; }
std::string kernel_of(const options::SgdOptions&) { return "SgdRule"; }
std::string kernel_of(const options::AdamOptions&) { return "AdamRule"; }
std::string kernel_of(const options::AdagradOptions&) { return "AdagradRule"; }
std::string kernel_of(const options::LionOptions&) { return "LionRule"; }
std::string kernel_of(const options::AdamWAnyPrecisionOptions&) { return "AnyPrecisionRule"; }
std::string kernel_of(const options::AdamW8bitOptions&) { return "adamw_8bit_kernel"; }
// that lays out the weights for its rule
std::string kernel_of(const options::OwnOptimizerOptions&) { return "own_stage_kernel"; }
std::string kernel_of(const options::LambOptions&) { return "lamb_apply_kernel"; }
std::string kernel_of(const options::AdafactorOptions&) { return "adafactor_apply_kernel"; }

std::string weights_of(DType compute, program::Master master, recipe::Rounding rounding) {
  if (compute == DType::f32) return "Fp32Weights";
  if (compute == DType::f16) return "HalfWeights";
  return master == program::Master::split           ? "SplitWeights"
         : master == program::Master::fp32          ? "MasterWeights"
         : rounding == recipe::Rounding::stochastic ? "StochasticWeights"
                                                    : "Bf16Weights";
}

// Of a block that is recomputed: the operations of its forward that compute something again.
template <class... Operations>
std::int64_t computed_again(const operations::BoundBlock& block, const program::Instruction& i) {
  std::int64_t n = 0;
  for (const operations::BoundOp& op : block.forward)
    n += (std::holds_alternative<Operations>(op.operation) || ...) &&
         std::ranges::any_of(i.uses, [&](const program::Use& u) {
           return program::writes(u.how) && std::ranges::count(op.outputs, u.slot) > 0;
         });
  return n;
}

// The same of casts to fp8: of inputs that are cast, and of weights in products that are.
std::int64_t cast_again(const operations::BoundBlock& block, const program::Instruction& i) {
  const auto writes = [&](const operations::BoundOp& op, std::size_t output) {
    return output < op.outputs.size() && op.outputs[output] != program::none &&
           std::ranges::any_of(i.uses, [&](const program::Use& u) {
             return program::writes(u.how) && u.slot == op.outputs[output];
           });
  };
  std::int64_t n = 0;
  for (const operations::BoundOp& op : block.forward) {
    using operations::Linear;
    using operations::Quantize;
    if (std::holds_alternative<Quantize>(op.operation))
      n += writes(op, Quantize::values) || writes(op, Quantize::transposed);
    if (const auto* linear = std::get_if<Linear>(&op.operation);
        linear && linear->fp8 &&
        linear->fp8->weight_casts == operations::Fp8WeightCasts::in_each_use)
      n += writes(op, op.outputs[Linear::preactivation] != program::none ? Linear::preactivation
                                                                         : Linear::y);
  }
  return n;
}

// Products of adapters which the kernel of their layer's product may make as well.
std::int64_t added_products(const program::ModelGraph& graph, const program::BlockSpec& block,
                            Op op) {
  using operations::LowRank;
  if (!graph.composition) return 0;
  const auto at = static_cast<std::size_t>(&block - graph.blocks.data());
  const operations::BoundBlock& bound = *graph.composition->blocks.at(at);
  std::int64_t n = 0;
  for (const operations::BoundOp& o : op == Op::backward ? bound.backward : bound.forward)
    if (const auto* adapter = std::get_if<LowRank>(&o.operation);
        adapter && o.parameters[LowRank::weight].value != program::none)
      n += op == Op::backward ? 1 : std::ssize(adapter->parts);
  return n;
}

// What a micro-step computes beyond one forward and one backward, as its program says: of a block
// that is recomputed, only what is not there yet and something reads.
void expect_recomputation(ExpectedKernels& expected, const Draft& plan,
                          const program::ModelGraph& graph, const OwnParts& own) {
  const auto p = passes::activation_recomputation(program::plain_program(graph, plan.update), graph,
                                                  recompute_levels(plan.recipe.memory));
  const bool fused = expected.attention != AttentionKind::math;
  for (const program::BlockSpec* block : own.blocks)
    for (const auto& [op, phase] : block->phases) {
      if (op == Op::evaluate || op == Op::predict) continue;
      expected.norms_recomputed += phase.launches_of(program::KernelFamily::norm_forward) -
                                   phase.launches_of(program::KernelFamily::norm_backward);
      if (fused && op == Op::forward)
        expected.attention_forward += std::ssize(attention_of(graph, *block));
    }
  for (const program::Instruction& i : p.steady) {
    if (i.op != Op::recompute || !own.has_block[static_cast<std::size_t>(i.block)]) continue;
    const operations::BoundBlock& block =
        *graph.composition->blocks.at(static_cast<std::size_t>(i.block));
    const std::int64_t attention = computed_again<operations::Attention>(block, i);
    expected.norms_recomputed +=
        computed_again<operations::ResidualNorm, operations::HeadNorm>(block, i);
    expected.attention_forward += fused ? attention : 0;
    expected.fp8_casts += plan.on_gpu ? cast_again(block, i) : 0;
    // an activation is made of its sum without the product
    const auto& products =
        graph.blocks[static_cast<std::size_t>(i.block)].phases.at(Op::forward).gemms;
    expected.products_recomputed |=
        (!fused && attention > 0) || std::ranges::any_of(products, [&](const program::Gemm& g) {
          return std::ranges::any_of(i.uses, [&](const program::Use& u) {
            return u.slot == g.output && program::writes(u.how);
          });
        });
  }
}

}  // namespace

ExpectedKernels expected_kernels(const Draft& plan, const program::ModelGraph& graph,
                                 std::int64_t target_rows, int rank, const Duties& duties) {
  ExpectedKernels expected;
  expected.captured = !plan.recipe.run.execution.is_auto() &&
                      *plan.recipe.run.execution.value == recipe::Execution::graph;
  expected.attention = plan.recipe.model.attention;
  expected.documents = packed(plan);
  expected.fp8_blocks = plan.recipe.precision.scaling == recipe::Scaling::blocks;
  const operations::Fp8Scaling scaling = fp8_scaling_of(plan.recipe.precision);
  expected.mixed_windows = architectures::mixes_windows(plan.dims);
  const auto& levels = *plan.recipe.memory.activation_checkpoint.value;
  const auto level_of = [&](const program::BlockSpec& block) {
    if (block.layer == program::none) return RecomputeLevel::none;
    return levels.size() == 1 ? levels.front() : levels.at(static_cast<std::size_t>(block.layer));
  };
  std::int64_t casts_once = 0;  // a step, and not a micro-step
  const auto turns = [&](std::int64_t rows) {
    return (rows + graph.target_chunk - 1) / graph.target_chunk;
  };
  const OwnParts own = own_parts(plan, graph, duties.stage);
  for (const program::BlockSpec* const of_rank : own.blocks) {
    const program::BlockSpec& block = *of_rank;
    const bool in_turns = target_rows > 0 && graph.target_chunk > 0 &&
                          &block == &graph.blocks.back();
    std::int64_t products = 0;
    for (const Op op : {Op::forward, Op::backward, Op::loss}) {
      const auto phase = block.phases.find(op);
      if (phase == block.phases.end()) continue;
      for (const program::Gemm& g : phase->second.gemms) {
        products += g.count;
        if (g.fp8) expected.fp8_products += g.count;
      }
      expected.products_added += added_products(graph, block, op);
      expected.fp8_casts += phase->second.launches_of(program::KernelFamily::quantize) /
                            operations::quantize_kernels(scaling);
      for (const program::ParameterCast& cast : phase->second.parameter_casts)
        if (block.slots[static_cast<std::size_t>(cast.copy)].once_a_run)
          --expected.fp8_casts;  // in no step
        else
          ++casts_once;
      if (phase->second.attention_flops == 0) continue;
      for (const operations::Attention& a : attention_of(graph, block))
        // lib/operations/attention/math_attention.hpp
        if (expected.attention == AttentionKind::math)
          products += op == Op::backward ? 5 : 2;
        else if (op == Op::backward)
          expected.attention_backward +=
              operations::gpu_backward_calls(a, plan.compute, plan.recipe.run.deterministic);
    }
    expected.matrix_products += in_turns ? products / turns(graph.target_rows) * turns(target_rows)
                                         : products;
  }
  expect_recomputation(expected, plan, graph, own);
  const std::int64_t micro_steps = plan.batch.grad_accum_steps;
  expected.attention_forward *= micro_steps;
  expected.attention_backward *= micro_steps;
  expected.matrix_products *= micro_steps;
  expected.fp8_products *= micro_steps;
  expected.products_added *= micro_steps;
  expected.fp8_casts = (expected.fp8_casts - casts_once) * micro_steps + casts_once;
  for (const int g : own.groups)
    if (const program::GroupSpec& group = graph.groups[static_cast<std::size_t>(g)]; group.fp8)
      expected.fp8_casts += std::ssize(
          scaled_runs(local(group, trained_layout(group, plan.mesh), plan.mesh, rank).spec));
  const auto own_elements = [&](int group) {
    const program::GroupSpec& of = graph.groups[static_cast<std::size_t>(group)];
    return of.elements / trained_layout(of, plan.mesh).parts(plan.mesh);
  };
  expected.norms_recomputed *= micro_steps;
  expected.activation_checkpoint = recipe::write_value(levels);
  // a rule of the user's own is given ranges, one after the other
  const bool in_ranges =
      std::holds_alternative<options::OwnOptimizerOptions>(plan.recipe.optimizer.options);
  if (plan.recipe.optimizer.update_in_backward && !in_ranges)
    expected.update_launches = places_of_updates(graph);
  if (plan.recipe.memory.activation_offload == recipe::ActivationOffload::cpu)
    for (const program::BlockSpec* block : own.blocks)
      expected.offloaded_bytes += least_offloaded_bytes(graph, *block, level_of(*block)) *
                                  micro_steps;
  const bool weights_away = offloads_weights(plan);
  std::vector<passes::OptimizerLocation> locations(graph.groups.size(),
                                                   passes::OptimizerLocation::device);
  if (offloads_optimizer(plan) && duties.keeps_weights) {
    locations = optimizer_locations(plan, graph.groups);
    for (const int group : own.groups_with_gradients) {
      expected.updates_stay |= locations[static_cast<std::size_t>(group)] ==
                               passes::OptimizerLocation::device;
      if (locations[static_cast<std::size_t>(group)] == passes::OptimizerLocation::device) continue;
      const std::int64_t elements = own_elements(group);
      ++expected.host_updates;
      expected.gradients_rounded += rounds_gradients(plan);
      expected.gradients_out_bytes += elements *
                                      size_of(rounds_gradients(plan) ? DType::bf16 : DType::f32);
      if (!weights_away)
        expected.weights_back_bytes += elements * size_of(dtype_of(plan.recipe.precision.compute));
    }
    expected.update_launches = 0;
  }
  expected.weights_on_disk = weights_on_disk(plan);
  if (weights_away)
    // once for blocks; and for an update on the GPU once back
    for (const int group : own.groups_with_gradients) {
      const std::int64_t bytes = own_elements(group) *
                                 size_of(dtype_of(plan.recipe.precision.compute));
      expected.parameters_in_bytes += bytes;
      if (locations[static_cast<std::size_t>(group)] == passes::OptimizerLocation::device)
        expected.parameters_out_bytes += bytes;
    }
  // each between copies of its own
  if (weights_away && expected.update_launches > 0)
    expected.update_launches = static_cast<std::int64_t>(own.groups_with_gradients.size());
  if (plan.mesh.size(program::axes::of_stage) > 1)
    expected.summed = plan.recipe.precision.reduce == recipe::Reduce::bf16 ? "bf16" : "f32";
  expected.sharded = plan.zero_stage() > 0;
  expected.exchanged = plan.mesh.experts > 1;
  expected.update =
      std::visit([](const auto& o) { return kernel_of(o); }, plan.recipe.optimizer.options);
  // as asked, whatever the program came to keep
  expected.weights = weights_of(dtype_of(plan.recipe.precision.compute),
                                master_of(plan.recipe.precision), plan.recipe.precision.rounding);
  return expected;
}

}  // namespace trainx::plan
