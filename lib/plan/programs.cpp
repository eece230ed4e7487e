#include "plan/adapter.hpp"
#include "plan/programs.hpp"
#include "architectures/active_parameters.hpp"
#include "architectures/architecture.hpp"
#include "core/error.hpp"
#include "passes/passes.hpp"
#include "plan/choose/offload.hpp"
#include "plan/fp8_layers.hpp"
#include "plan/micro_steps.hpp"
#include "plan/precision.hpp"
#include "plan/shared_weights.hpp"
#include "plan/stages.hpp"
#include "plan/weight_casts.hpp"
#include "program/shards.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {

passes::RecomputeLevels recompute_levels(const recipe::MemorySection& memory) {
  if (memory.activation_checkpoint.is_auto())
    throw InternalError("memory.activation_checkpoint is still to be chosen");
  return {*memory.activation_checkpoint.value, static_cast<int>(memory.recompute_segment)};
}

architectures::GraphOptions graph_options_of(const Draft& plan) {
  architectures::GraphOptions graph_options =
      plan.on_gpu ? architectures::GraphOptions::on_gpu(plan.recipe.run.deterministic,
                                                        plan.compute_capability)
                  : architectures::GraphOptions::on_cpu(plan.threads);
  graph_options.seeded = plan.mode == recipe::ParallelMode::dp;
  graph_options.passes.fp8 = {.layers = fp8_layers_of(plan.recipe.precision),
                              .scaling = fp8_scaling_of(plan.recipe.precision),
                              .left_out = plan.fp8_fallback,
                              .weight_casts = weight_casts_of(plan),
                              .copies_suffice = evaluation_dtype_of(plan.recipe) == plan.compute,
                              .costs = fp8_costs(plan)};
  tell_trained(plan, graph_options);
  graph_options.passes.context_ranks = plan.mesh.context;
  graph_options.passes.tensor_ranks = plan.mesh.tensor;
  graph_options.passes.sharing = {
      plan.mesh.experts, plan.recipe.parallel.experts_capacity,
      plan.recipe.parallel.experts_overflow == recipe::ExpertsOverflow::drop};
  return graph_options;
}

namespace {

program::ModelGraph graph_by(architectures::GraphOptions options, const Draft& plan,
                             std::int64_t length, DType compute) {
  // copies of the run's weights are of the type that the run computes in
  operations::Fp8WeightCasts& casts = options.passes.fp8.weight_casts;
  if (compute != plan.compute && casts == operations::Fp8WeightCasts::once_a_run)
    casts = operations::Fp8WeightCasts::once_a_step;
  auto graph =
      architectures::model_graph(plan.dims, plan.batch.micro_batch_size, length, compute, options);
  return plan.zero_stage() > 0 ? program::divisible(std::move(graph), plan.mesh, plan.update.unit)
                               : graph;
}

}  // namespace

program::ModelGraph graph_of(const Draft& plan, std::int64_t length, DType compute) {
  return graph_by(graph_options_of(plan), plan, length, compute);
}

namespace {

PlacedProgram place(const Draft& plan, program::ModelGraph graph, program::StepProgram p,
                    bool ordered, std::vector<program::Bytes> fixed) {
  PlacedProgram placed{std::move(graph), std::move(p), {}, {}};
  program::PlacementOptions options;
  options.in_own_pages = shared_weights(plan, placed.graph, placed.program);
  options.fixed = std::move(fixed);
  placed.placement = program::plan_memory(placed.program, options);
  if (ordered) placed.order = program::derive_order(placed.program, placed.placement);
  return placed;
}

// torch's DistributedDataParallel sums 25 MiB at a time; where links were not measured that is what
// there is to go by.
constexpr program::Bytes usual_bucket_bytes = program::Bytes{25} << 20;

// Largest gradient bytes of a block inside a layer; of any block if the model has no layers.
program::Bytes gradients_of_a_block(const program::ModelGraph& graph) {
  program::Bytes most = 0, of_layers = 0;
  for (const program::BlockSpec& block : graph.blocks) {
    program::Bytes bytes = 0;
    for (const program::SlotSpec& s : block.slots)
      if (s.role == program::Role::gradient)
        bytes += graph.groups[static_cast<std::size_t>(s.index)].elements * size_of(DType::f32);
    most = std::max(most, bytes);
    if (block.layer != program::none) of_layers = std::max(of_layers, bytes);
  }
  return of_layers > 0 ? of_layers : most;
}

// Large enough that latency is at most an eighth of an all-reduce. ZeRO 2 and 3: at most one block,
// so that whole gradients die early.
program::Bytes bucket_bytes(const Draft& plan, const program::ModelGraph& graph,
                            const program::Rates* rates) {
  if (plan.recipe.optimizer.update_in_backward) return 0;  // each gradient goes as soon as it can
  // the order of sums must not hang on what was measured when
  const bool measured = rates && rates->link_bytes_per_s > 0 && rates->link_latency_s > 0 &&
                        !plan.recipe.run.deterministic;
  const program::Bytes bytes =
      measured ? std::max<program::Bytes>(
                     1 << 20, std::llround(8 * rates->link_latency_s * rates->link_bytes_per_s))
               : usual_bucket_bytes;
  return plan.zero_stage() > 1 ? std::min(bytes, gradients_of_a_block(graph)) : bytes;
}

/// Of evaluation: training's own, or one that computes in another type and casts training's
/// parameters to it, or whose experts compute all tokens that choose them.
program::ModelGraph evaluation_graph_of(const Draft& plan, std::int64_t length,
                                        const program::ModelGraph& train) {
  const DType compute = evaluation_dtype_of(plan.recipe);
  const bool drops = architectures::capacity_factor(plan.dims) > 0;
  if (compute == train.compute && !drops) return train;
  Draft evaluated = plan;
  architectures::GraphOptions options = graph_options_of(plan);
  // ranks that share a batch have blocks between those that know choices of all
  options.passes.keeps_choices = plan.mesh.context > 1;
  if (!options.passes.keeps_choices) evaluated.dims = architectures::without_capacity(plan.dims);
  program::ModelGraph graph = graph_by(std::move(options), evaluated, length, compute);
  if (compute != train.compute) graph.stored = train.compute;
  return graph;
}

}  // namespace

Programs plan_programs(const Draft& plan, Extent extent, const Duties& of) {
  Programs made;
  const auto& r = plan.recipe;
  const passes::RecomputeLevels levels = recompute_levels(r.memory);
  std::vector<program::Bytes> residents;  // where the first program has them
  const bool evaluates = of.evaluates && extent != Extent::training;
  const bool ordered = extent != Extent::bytes;
  for (const std::int64_t length : plan.row_lengths) {
    auto graph_of_length = graph_of(plan, length, plan.compute);
    const auto& graph = graph_of_length;
    const auto plain = program::plain_program(graph, plan.update);
    const int micro_steps = micro_steps_in_program(plan, graph.blocks.size());
    auto p = passes::accumulation(plain, micro_steps);
    p = passes::activation_recomputation(std::move(p), graph, levels);
    p = passes::casts_of_weights(std::move(p));
    const auto stage_of = [&](program::StepProgram whole, const program::ModelGraph& of_blocks) {
      return passes::pipeline(std::move(whole), of_blocks, plan.mesh, pipeline_cut(plan, of_blocks),
                              of.stage);
    };
    std::vector<int> stage_of_group;
    if (plan.mesh.pipeline > 1) {
      for (const auto& stages : program::stages_of_groups(graph, pipeline_cut(plan, graph)))
        stage_of_group.push_back(stages.front());
      p = stage_of(std::move(p), graph);
    }
    if (r.memory.activation_offload == recipe::ActivationOffload::cpu)
      p = passes::activation_offload(std::move(p));
    if (plan.shares_layers()) p = passes::redistribute(std::move(p), graph, plan.update, plan.mesh);
    const passes::ReduceOptions reduce{
        plan.mesh, bucket_bytes(plan, graph, plan.rates ? &*plan.rates : nullptr)};
    const passes::ZeroOptions shards{plan.zero_stage(), plan.turns_kept};
    if (plan.mode == recipe::ParallelMode::ddp)
      p = passes::distributed_data_parallel(std::move(p), reduce);
    if (plan.mode == recipe::ParallelMode::dp)
      p = passes::data_parallel(std::move(p), reduce, of.first_rank);
    if (plan.zero_stage() > 0) p = passes::zero(std::move(p), graph, plan.update, reduce, shards);
    if (r.optimizer.update_in_backward) p = passes::update_in_backward(std::move(p));
    const bool on_host = offloads_optimizer(plan);
    const passes::OptimizerOffloadOptions offload{
        optimizer_locations(plan, graph.groups),
        static_cast<int>(r.memory.optimizer_offload.read_ahead), rounds_gradients(plan)};
    if (on_host) p = passes::optimizer_offload(std::move(p), offload);
    const passes::ParameterOffloadOptions weights{
        weights_on_disk(plan), static_cast<int>(r.memory.optimizer_offload.read_ahead),
        weights_on_device(plan, graph.groups, graph.blocks)};
    if (offloads_weights(plan)) p = passes::parameter_offload(std::move(p), weights);
    if (plan.mesh.world > 1)
      p = passes::lower_collectives(
          std::move(p), r.precision.reduce == recipe::Reduce::bf16 ? DType::bf16 : DType::f32);
    p = passes::frozen_weight_offload(std::move(p));
    p.repeats = plan.batch.grad_accum_steps - micro_steps;
    // the last may differ: what follows it may overlap
    if (p.repeats > 0) p.repeated_micro = micro_steps - 2;
    auto evaluated = evaluates ? evaluation_graph_of(plan, length, graph) : program::ModelGraph{};
    PlacedProgram& train = made.train.emplace_back(
        place(plan, std::move(graph_of_length), std::move(p), ordered, residents));
    train.micro_steps = micro_steps;
    train.stage_of_group = std::move(stage_of_group);
    if (residents.empty())
      for (std::size_t b = 0; b < train.program.buffers.size() && train.program.buffers[b].resident;
           ++b)
        residents.push_back(train.placement.base[b]);
    if (!evaluates) continue;
    auto forward = program::forward_program(
        plain, evaluated, program::Op::evaluate,
        r.eval.weights == recipe::EvalWeights::average ? plan.update.average() : program::none);
    if (plan.mesh.pipeline > 1) forward = stage_of(std::move(forward), evaluated);
    if (plan.shares_layers())
      forward = passes::redistribute(std::move(forward), evaluated, plan.update, plan.mesh);
    if (plan.zero_stage() > 0)
      forward = passes::zero(std::move(forward), evaluated, plan.update, reduce, shards);
    if (plan.mode == recipe::ParallelMode::ddp)
      forward = passes::distributed_data_parallel(std::move(forward), reduce);
    if (on_host) forward = passes::optimizer_offload(std::move(forward), offload);
    if (offloads_weights(plan)) forward = passes::parameter_offload(std::move(forward), weights);
    forward = passes::frozen_weight_offload(std::move(forward));
    made.evaluate.push_back(
        place(plan, std::move(evaluated), std::move(forward), extent == Extent::whole, residents));
  }
  return made;
}

double step_flops(const PlacedProgram& placed) {
  double flops = 0;
  for (const auto& i : placed.program.steady) {
    const auto n_times = static_cast<double>(program::times(placed.program, i));
    if (!program::is_of_block(i)) continue;
    const auto& phases = placed.graph.blocks[static_cast<std::size_t>(i.block)].phases;
    if (const auto phase = phases.find(i.op); phase != phases.end())
      flops += n_times * (phase->second.gemm_flops() + phase->second.attention_flops);
  }
  return flops;
}

namespace {

/// Bytes that a step copies between buffers for which counts(from, to) holds.
template <class Counts>
std::int64_t copied_bytes(const program::StepProgram& p, const Counts& counts) {
  std::int64_t bytes = 0;
  for (const auto& i : p.steady) {
    if (i.op != program::Op::copy) continue;
    const program::Use& to = i.uses.back();
    if (counts(p.buffers[static_cast<std::size_t>(i.uses.front().buffer)],
               p.buffers[static_cast<std::size_t>(to.buffer)]))
      bytes += program::bytes_of(p, to) * program::times(p, i);
  }
  return bytes;
}

/// Bytes of these roles that a step reads from the disk and writes to it.
DiskCopies disk_copies(const program::StepProgram& p, std::initializer_list<program::Role> roles) {
  using program::Buffer;
  const auto counts = [&](const Buffer& b) {
    return b.space == program::Space::disk && std::ranges::find(roles, b.role) != roles.end();
  };
  return {copied_bytes(p, [&](const Buffer& from, const Buffer&) { return counts(from); }),
          copied_bytes(p, [&](const Buffer&, const Buffer& to) { return counts(to); })};
}

}  // namespace

std::int64_t offloaded_bytes(const program::StepProgram& p) {
  return copied_bytes(p, [](const program::Buffer&, const program::Buffer& to) {
    return to.space == program::Space::host &&
           (to.role == program::Role::value || to.role == program::Role::saved);
  });
}

OptimizerCopies optimizer_copies(const program::StepProgram& p) {
  using program::Buffer, program::Role, program::Space;
  return {copied_bytes(p,
                       [](const Buffer&, const Buffer& to) {
                         return to.space == Space::host && to.role == Role::gradient;
                       }),
          copied_bytes(p,
                       [](const Buffer&, const Buffer& to) {
                         return to.space == Space::device && to.role == Role::parameter &&
                                to.resident;
                       }),
          disk_copies(p, {Role::master, Role::state})};
}

ParameterCopies parameter_copies(const program::StepProgram& p) {
  using program::Buffer, program::Role, program::Space;
  return {copied_bytes(p,
                       [](const Buffer&, const Buffer& to) {
                         return to.space == Space::device && to.role == Role::parameter &&
                                !to.resident;
                       }),
          copied_bytes(p,
                       [](const Buffer& from, const Buffer& to) {
                         return from.space == Space::device && to.space == Space::host &&
                                to.role == Role::parameter;
                       }),
          disk_copies(p, {Role::parameter})};
}

}  // namespace trainx::plan
