#include "plan/run_plan.hpp"
#include "core/hash.hpp"
#include "core/hub_cache.hpp"
#include "passes/passes.hpp"
#include "plan/batch.hpp"
#include "plan/check_programs.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/saving.hpp"
#include "plan/choose/fit.hpp"
#include "plan/choose/kept_weights.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/micro_steps.hpp"
#include "plan/model_dims.hpp"
#include "plan/precision.hpp"
#include "hardware/hardware.hpp"
#include "plan/update_rates.hpp"
#include "program/print.hpp"
#include "program/shards.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace trainx::plan {
namespace {

// Steps of a duration in steps, epochs or tokens; nullopt for one in time.
std::optional<std::int64_t> steps_of(const Duration& d, const BatchPlan& batch, std::int64_t length,
                                     const facts::DataFacts& data, const std::string& key) {
  const auto samples_per_step = static_cast<double>(batch.global_batch_size);
  switch (d.unit) {
    case Duration::Unit::steps: return std::llround(d.amount);
    case Duration::Unit::epochs:
      if (!data.train_present)
        throw UserError(ExitCode::input_missing,
                        key + " is in epochs, but the training data is missing: " + data.problem);
      return static_cast<std::int64_t>(
          std::ceil(d.amount * static_cast<double>(data.train_samples) / samples_per_step));
    case Duration::Unit::tokens:
      return static_cast<std::int64_t>(
          std::ceil(d.amount / (samples_per_step * static_cast<double>(length))));
    // of percent the schedule knows the whole
    case Duration::Unit::seconds:
    case Duration::Unit::percent: break;
  }
  return std::nullopt;
}

PlacedProgram place(program::ModelGraph graph, program::StepProgram p, bool ordered,
                    std::vector<program::Bytes> fixed) {
  PlacedProgram placed{std::move(graph), std::move(p), {}, {}};
  program::PlacementOptions options;
  options.fixed = std::move(fixed);
  placed.placement = program::plan_memory(placed.program, options);
  if (ordered) placed.order = program::derive_order(placed.program, placed.placement);
  return placed;
}

// Why the recipe cannot compute on a GPU; "" if it can.
std::string lacks_kernels(const recipe::Recipe& r) {
  if (std::holds_alternative<architectures::CustomOptions>(r.model.options))
    return "a model of your own computes on CPUs so far";
  return "";
}

/// nullopt if they were not measured.
std::optional<program::Rates> rates_of(const hardware::Hardware& device, recipe::Compute compute) {
  const program::Rates& rates = size_of(dtype_of(compute)) == 2    ? device.bf16
                                : compute == recipe::Compute::tf32 ? device.tf32
                                                                   : device.fp32;
  return rates.gemm_flops_per_s > 0 ? std::optional(rates) : std::nullopt;
}

// Only for runs on one host: the network between hosts is not measured, and all hosts must make the
// same plan.
void use_measured_rates(program::Rates& rates, const facts::HardwareFacts& hardware,
                        std::int64_t world_size) {
  if (hardware.host_bytes_per_s > 0 && world_size == 1)
    rates.host_bytes_per_s = hardware.host_bytes_per_s;
  if (world_size != hardware.local_ranks) return;
  // all ranks update at once
  rates.host_update_bytes_per_s = hardware.host_update_bytes_per_s /
                                  static_cast<double>(hardware.local_ranks);
  if (hardware.link_bytes_per_s <= 0) return;
  rates.link_bytes_per_s = hardware.link_bytes_per_s;
  rates.link_latency_s = hardware.link_latency_s;
}

program::ModelGraph graph_of(const RunPlan& plan, std::int64_t length, DType compute) {
  architectures::Machine machine =
      plan.on_gpu ? architectures::Machine::one_gpu(plan.recipe.run.deterministic)
                  : architectures::Machine(plan.threads);
  machine.seeded = plan.mode == recipe::ParallelMode::dp;
  auto graph =
      architectures::model_graph(plan.dims, plan.batch.micro_batch_size, length, compute, machine);
  return plan.zero_stage() > 0
             ? program::divisible(std::move(graph), plan.shard_ranks, plan.update.unit)
             : graph;
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
program::Bytes bucket_bytes(const RunPlan& plan, const program::ModelGraph& graph,
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
/// parameters to it.
program::ModelGraph evaluation_graph_of(const RunPlan& plan, std::int64_t length,
                                        const program::ModelGraph& train) {
  const DType compute = evaluation_dtype_of(plan.recipe);
  if (compute == train.compute) return train;
  program::ModelGraph graph = graph_of(plan, length, compute);
  graph.stored = train.compute;
  return graph;
}

void require_level_for_each_layer(const RunPlan& plan) {
  const auto& levels = plan.recipe.memory.activation_checkpoint.value;
  if (!levels || levels->size() == 1) return;
  const int layers = graph_of(plan, plan.row_lengths.back(), plan.compute).layers();
  if (levels->size() != static_cast<std::size_t>(layers))
    throw UserError(ExitCode::invalid_recipe,
                    "memory.activation_checkpoint lists " + std::to_string(levels->size()) +
                        " levels, and the model has " + std::to_string(layers) +
                        " layers; give one for each, or one for all");
}

bool runs_on_gpu(const recipe::Recipe& r, const facts::HardwareFacts& hardware,
                 bool planned_for_gpu) {
  const bool asked = !r.run.device.is_auto() && *r.run.device.value == recipe::DeviceKind::gpu;
  const std::string lacks = lacks_kernels(r);
  if (asked && !lacks.empty())
    throw UserError(ExitCode::invalid_recipe, "run.device is gpu, and " + lacks);
  if (!r.run.device.is_auto() && !planned_for_gpu) {
    if (!asked && r.precision.compute == recipe::Compute::tf32)
      throw UserError(
          ExitCode::invalid_recipe,
          "precision.compute is tf32, which only a GPU computes in, and run.device is cpu");
    return asked;
  }
  const bool gpu = lacks.empty() && (planned_for_gpu || !hardware.gpus.empty());
  if (!gpu && r.precision.compute == recipe::Compute::tf32)
    throw UserError(ExitCode::invalid_recipe,
                    "precision.compute is tf32, which only a GPU computes in, and " +
                        (lacks.empty() ? "there is none here" : lacks) + "; write fp32 or bf16");
  return gpu;
}

/// Where weights come from, and what their folder asks of dropout that the run does not do.
void note_folder(RunPlan& plan, const facts::ModelFolderFacts& folder) {
  if (const auto snapshot = hub_snapshot_of(folder.path))
    plan.notes.push_back("model.init_from is " + describe(*snapshot) + ": " + folder.path);
  for (std::string& remark :
       architectures::dropout_remarks(folder.config, folder.path + "/config.json", plan.dims))
    plan.notes.push_back(std::move(remark));
}

/// Refuses a requested attention that cannot run here: no other one replaces it silently.
void require_attention(const RunPlan& plan) {
  const AttentionKind kind = plan.recipe.model.attention;
  const bool packed = options::packs_documents(plan.recipe.data.source);
  const std::string asked = "model.attention: " + std::string(name_of(kind)) + " ";
  if (!plan.on_gpu && architectures::needs_gpu(kind))
    throw UserError(
        ExitCode::invalid_recipe,
        asked + "is a GPU's, and this run computes on the CPU: write auto, flash or math");
  std::visit(
      [&](const auto& d) {
        if constexpr (requires { d.attention; })
          for (const DType compute : {plan.compute, evaluation_dtype_of(plan.recipe)})
            if (const std::string why =
                    plan.on_gpu
                        ? architectures::unfit_attention(kind, compute, d.hidden_size / d.num_heads,
                                                         plan.row_lengths.front(), packed)
                        : "";
                !why.empty())
              throw UserError(
                  ExitCode::invalid_recipe,
                  asked + why +
                      (compute == plan.compute ? ""
                                               : " (eval.precision: evaluations compute in " +
                                                     std::string(name_of(compute)) + ")"));
      },
      plan.dims);
}

}  // namespace

bool computes_on_gpu(const recipe::Recipe& recipe, const facts::HardwareFacts& hardware) {
  return runs_on_gpu(recipe, hardware, false);
}

void plan_programs(RunPlan& plan, Extent extent) {
  const auto& r = plan.recipe;
  plan.train.clear();
  plan.evaluate.clear();
  const passes::RecomputeLevels levels = recompute_levels(r.memory);
  std::vector<program::Bytes> residents;  // where the first program has them
  const bool evaluates = !plan.is_replica() && extent != Extent::training;
  const bool ordered = extent != Extent::bytes;
  for (const std::int64_t length : plan.row_lengths) {
    auto graph_of_length = graph_of(plan, length, plan.compute);
    const auto& graph = graph_of_length;
    const auto plain = program::plain_program(graph, plan.update);
    const int micro_steps = micro_steps_in_program(plan, graph.blocks.size());
    auto p = passes::accumulation(plain, micro_steps);
    p = passes::activation_recomputation(std::move(p), graph, levels);
    if (r.memory.activation_offload == recipe::ActivationOffload::cpu)
      p = passes::activation_offload(std::move(p));
    const passes::ReduceOptions reduce{
        static_cast<int>(plan.batch.world_size),
        bucket_bytes(plan, graph, plan.rates ? &*plan.rates : nullptr)};
    const passes::ZeroOptions shards{plan.zero_stage(), plan.shard_ranks, plan.turns_kept};
    if (plan.mode == recipe::ParallelMode::ddp)
      p = passes::distributed_data_parallel(std::move(p), reduce);
    if (plan.mode == recipe::ParallelMode::dp)
      p = passes::data_parallel(std::move(p), reduce, plan.rank);
    if (plan.zero_stage() > 0) p = passes::zero(std::move(p), graph, plan.update, reduce, shards);
    if (r.optimizer.update_in_backward) p = passes::update_in_backward(std::move(p));
    const bool on_host = offloads_optimizer(plan);
    const passes::OptimizerOffloadOptions offload{
        optimizer_locations(plan, graph.groups.size()),
        static_cast<int>(r.memory.optimizer_offload.read_ahead), rounds_gradients(plan)};
    if (on_host) p = passes::optimizer_offload(std::move(p), offload);
    const passes::ParameterOffloadOptions weights{
        weights_on_disk(plan), static_cast<int>(r.memory.optimizer_offload.read_ahead)};
    if (offloads_weights(plan)) p = passes::parameter_offload(std::move(p), weights);
    if (plan.batch.world_size > 1)
      p = passes::lower_collectives(
          std::move(p), r.precision.reduce == recipe::Reduce::bf16 ? DType::bf16 : DType::f32);
    p.repeats = plan.batch.grad_accum_steps - micro_steps;
    // the last may differ: what follows it may overlap
    if (p.repeats > 0) p.repeated_micro = micro_steps - 2;
    auto evaluated = evaluates ? evaluation_graph_of(plan, length, graph) : program::ModelGraph{};
    PlacedProgram& train = plan.train.emplace_back(
        place(std::move(graph_of_length), std::move(p), ordered, residents));
    train.micro_steps = micro_steps;
    if (residents.empty())
      for (std::size_t b = 0; b < train.program.buffers.size() && train.program.buffers[b].resident;
           ++b)
        residents.push_back(train.placement.base[b]);
    if (!evaluates) continue;
    auto forward = program::forward_program(plain, evaluated, program::Op::evaluate);
    if (plan.zero_stage() > 0)
      forward = passes::zero(std::move(forward), evaluated, plan.update, reduce, shards);
    if (plan.mode == recipe::ParallelMode::ddp)
      forward = passes::distributed_data_parallel(std::move(forward), reduce);
    if (on_host) forward = passes::optimizer_offload(std::move(forward), offload);
    if (offloads_weights(plan)) forward = passes::parameter_offload(std::move(forward), weights);
    plan.evaluate.push_back(
        place(std::move(evaluated), std::move(forward), extent == Extent::whole, residents));
  }
  // Instructions beyond 500 count for more: few candidates of very deep models fit into a second.
  for (const PlacedProgram& p : plan.train) {
    const std::int64_t instructions = std::ssize(p.program.steady);
    *plan.searched += instructions + 12 * std::max<std::int64_t>(instructions - 500, 0);
  }
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
      bytes += (to.range.end - to.range.begin) * program::times(p, i);
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

double RunPlan::flops_per_token() const {
  return step_flops(train.back()) * static_cast<double>(batch.world_size) /
         static_cast<double>(tokens_per_step);
}

RunPlan make_run_plan(const recipe::Recipe& recipe, const facts::Facts& facts,
                      const PlanOptions& options) {
  RunPlan plan;
  plan.recipe = recipe;
  auto& r = plan.recipe;
  plan.every_micro_step = options.every_micro_step;
  choose_mode(plan, options.rank);
  plan.batch = plan_batch(r.batch, *r.parallel.world_size.value);
  if (r.optimizer.update_in_backward && plan.batch.grad_accum_steps > 1 &&
      !r.batch.micro_batch_size.is_auto())
    throw UserError(
        ExitCode::invalid_recipe,
        "optimizer.update_in_backward cannot go together with batch.grad_accum_steps, which is " +
            std::to_string(plan.batch.grad_accum_steps) + " with " +
            std::to_string(plan.batch.world_size) +
            " ranks: gradients of all micro-steps are summed before an update; raise "
            "batch.micro_batch_size or leave update_in_backward out");
  plan.dims = plan_model_dims(r, facts);
  plan.row_lengths = recipe::row_lengths(r.data);
  require_plannable(plan);
  plan.compute = dtype_of(r.precision.compute);
  plan.master = master_of(r.precision);
  const bool fixed_scale = !r.precision.loss_scale.is_auto();
  plan.loss_scale = {fixed_scale ? *r.precision.loss_scale.value : r.precision.initial_loss_scale,
                     fixed_scale ? 0 : r.precision.loss_scale_window};
  if (plan.mode == recipe::ParallelMode::dp && plan.compute != DType::f16) plan.loss_scale = {1, 0};
  plan.threads = facts.hardware.threads_of_rank();
  plan.update.states =
      std::visit([](const auto& o) { return options::states(o); }, r.optimizer.options);
  plan.update.master = plan.master;
  plan.update.unit =
      std::visit([](const auto& o) { return options::unit_of(o); }, r.optimizer.options);
  plan.update.sums =
      std::visit([](const auto& o) { return options::tensor_sums_of(o); }, r.optimizer.options);

  const hardware::Hardware* device = options.gpu.empty() ? nullptr
                                                         : &hardware::hardware_named(options.gpu);
  plan.on_gpu = runs_on_gpu(r, facts.hardware, device != nullptr);
  if (plan.on_gpu && r.memory.release_cache_every)
    throw UserError(ExitCode::invalid_recipe,
                    "memory.release_cache_every can have no effect on a GPU: trainx allocates the "
                    "planned GPU memory once, and no library caches more; leave it out");
  if (plan.on_gpu && !device && !facts.hardware.gpus.empty())
    device = hardware::find_hardware(facts.hardware.gpus.front().compute_capability,
                                     facts.hardware.gpus.front().memory_bytes);

  const std::int64_t length = r.data.sequence_length;
  auto steps = [&](const Duration& d, const char* key) {
    return steps_of(d, plan.batch, length, facts.data, key);
  };
  if (const auto total = steps(r.run.duration, "run.duration"))
    plan.total_steps = *total;
  else
    plan.total_seconds = r.run.duration.amount;
  plan.schedule =
      plan_schedule(r.schedule, plan.total_steps,
                    [&](const Duration& d, const char* key) { return steps(d, key).value_or(0); });
  if (plan.schedule.warmup >= 0) require_plannable_table(plan.schedule.warmup, "schedule.warmup");
  const bool constant = std::holds_alternative<options::ConstantSchedule>(r.schedule.course);
  const auto* adafactor = std::get_if<options::AdafactorOptions>(&r.optimizer.options);
  const bool follows_steps = adafactor && adafactor->relative_step;
  if (!constant || follows_steps) require_plannable_table(plan.total_steps, "run.duration");
  if (follows_steps)
    for (std::int64_t t = 1; t <= std::max<std::int64_t>(plan.total_steps, 1); ++t)
      plan.lr_table.push_back(options::relative_step(*adafactor, static_cast<double>(t)));
  else
    plan.lr_table = learning_rate_table(r.schedule, r.optimizer.lr, plan.schedule);
  plan.update.lr_table_entries = static_cast<std::int64_t>(plan.lr_table.size());
  auto interval = [&](const Duration& d, const char* key) {
    const auto n = steps(d, key);
    return n ? Interval{std::max<std::int64_t>(*n, 1), 0} : Interval{0, d.amount};
  };
  plan.checkpoint_every = r.checkpoint.every.is_auto()
                              ? Interval{0, least_checkpoint_seconds}
                              : interval(*r.checkpoint.every.value, "checkpoint.every");
  plan.eval_every = interval(r.eval.every, "eval.every");
  plan.metrics_every = interval(r.metrics.every, "metrics.every");
  if (r.memory.release_cache_every)
    plan.release_cache_every =
        interval(*r.memory.release_cache_every, "memory.release_cache_every");
  plan.tokens_per_step = plan.batch.global_batch_size * length;
  plan.nominal_targets =
      architectures::nominal_targets(plan.dims, plan.batch.global_batch_size, length);
  plan.train_samples = facts.data.train_samples;
  if (r.generate.every) plan.generate_every = interval(*r.generate.every, "generate.every");
  if (facts.data.eval_present) {
    plan.eval_samples = facts.data.eval_samples;
    if (const auto& batches = r.eval.batches.value)
      plan.eval_samples =
          std::min(*batches * plan.batch.global_batch_size, facts.data.eval_samples);
  }
  if (!facts.data.train_present)
    plan.notes.push_back("training data is not there yet: " + facts.data.problem);
  if (r.model.init_from && facts.model_folder) note_folder(plan, *facts.model_folder);

  if (device) plan.rates = rates_of(*device, r.precision.compute);
  if (plan.rates && options.gpu.empty())
    use_measured_rates(*plan.rates, facts.hardware, plan.batch.world_size);
  if (plan.rates && !r.run.execution.is_auto() &&
      *r.run.execution.value == recipe::Execution::eager)
    plan.rates->host_kernel_s = device->host_kernel_s;
  if (plan.rates)
    plan.rates->update = update_rates(*device, r.optimizer.options, plan.compute, plan.master);
  const program::Rates* const rates = plan.rates ? &*plan.rates : nullptr;
  const std::int64_t budget = !r.memory.budget.is_auto() ? r.memory.budget.value->bytes
                              : device                   ? device->memory_bytes
                              : plan.on_gpu
                                  ? 0
                                  : facts.hardware.memory_bytes / facts.hardware.local_ranks;
  require_attention(plan);
  if (options.gpu.empty())
    plan.host_memory_bytes = facts.hardware.memory_bytes / facts.hardware.local_ranks;
  if (uses_disk(plan) && facts.offload_folder) {
    if (facts.offload_folder->free_bytes)
      plan.disk_free_bytes = *facts.offload_folder->free_bytes / facts.hardware.local_ranks;
    if (plan.rates && options.gpu.empty())
      plan.rates->disk_bytes_per_s = facts.offload_folder->bytes_per_s /
                                     static_cast<double>(facts.hardware.local_ranks);
  }
  require_level_for_each_layer(plan);
  place_optimizer(plan);
  choose_shards(plan, facts.hardware.local_ranks, budget, rates);
  require_shards_on_host(plan);
  if (r.generate.every && plan.zero_stage() > 0)
    throw UserError(ExitCode::invalid_recipe,
                    "generate.every needs all weights on one rank, and parallel.mode is " +
                        recipe::write_value(plan.mode) +
                        ", which keeps them in shards; leave generate out, or "
                        "write parallel.mode: ddp");
  choose_shard_ranks(plan, facts.hardware.local_ranks, budget, rates);
  choose_what_fits(plan, budget, rates);
  require_plannable_micro_steps(plan, plan.batch.grad_accum_steps);
  choose_kept_weights(plan, budget, rates);
  choose_offload(plan, budget, rates);
  plan_programs(plan);

  if (!options.gpu.empty() && std::holds_alternative<architectures::CustomDims>(plan.dims))
    throw UserError(ExitCode::usage,
                    "plan --gpu: the time of a custom model cannot be predicted; leave --gpu out "
                    "to plan its memory");
  if (r.memory.activation_offload == recipe::ActivationOffload::cpu &&
      offloaded_bytes(plan.train.back().program) == 0)
    throw UserError(ExitCode::invalid_recipe,
                    "memory.activation_offload can have no effect: with so few blocks no "
                    "activation stays long enough to be copied; write none");
  plan.memory = plan_memory_budget(plan);
  plan.memory.budget_bytes = budget;
  require_fits(plan);
  require_sound_programs(plan);
  choose_asynchronous(plan);
  if (device) {
    const bool tf32 = r.precision.compute == recipe::Compute::tf32,
               low = plan.compute != DType::f32;
    if (rates) {
      program::Rates known = *rates;
      if (known.link_bytes_per_s <= 0 && plan.batch.world_size > 1)
        known.link_bytes_per_s = plan.sheet_link_bytes_per_s = device->sheet_link_bytes_per_s;
      plan.time = program::predict_time(plan.train.back().program, plan.train.back().order,
                                        plan.train.back().graph, known);
      if (r.model.attention == AttentionKind::flash ||
          r.model.attention == AttentionKind::efficient)
        plan.notes.push_back("attention by " + std::string(name_of(r.model.attention)) +
                             " was not measured: its time is predicted as that of auto");
      if (options::packs_documents(r.data.source))
        plan.notes.push_back(
            "attention inside documents (data.packed) depends on their lengths: its time is "
            "predicted for one document per row");
    }
    plan.peak_flops = low    ? device->bf16_peak_flops
                      : tf32 ? device->tf32_peak_flops
                             : device->fp32_peak_flops;
  }

  // What was `auto` or derived is written into the recipe, so that the run's resolved.yaml says it.
  if (plan.memory.budget_bytes > 0) r.memory.budget.value = ByteSize{plan.memory.budget_bytes};
  r.batch = {
      plan.batch.global_batch_size, {plan.batch.micro_batch_size}, plan.batch.grad_accum_steps};
  r.run.device.value = plan.on_gpu ? recipe::DeviceKind::gpu : recipe::DeviceKind::cpu;
  if (!plan.on_gpu && !r.run.execution.is_auto() &&
      *r.run.execution.value == recipe::Execution::graph)
    throw UserError(ExitCode::invalid_recipe,
                    "run.execution is graph, which only a GPU replays, and this run computes on "
                    "the CPU; write auto");
  if (r.run.execution.is_auto())
    r.run.execution.value = plan.on_gpu ? recipe::Execution::graph : recipe::Execution::eager;
  if (plan.compute != DType::f32 && r.precision.master.is_auto())
    r.precision.master.value = plan.master == program::Master::fp32 ? recipe::MasterWeights::fp32
                                                                    : recipe::MasterWeights::split;
  return plan;
}

std::string fingerprint(const RunPlan& plan) {
  recipe::Recipe recipe = plan.recipe;
  recipe.memory.budget = {};  // follows from the machine: ranks may differ in it
  // likewise, from the host's memory: what is computed is the same
  recipe.checkpoint.asynchronous = {};
  std::string all = recipe::dump(recipe);
  for (const auto* programs : {&plan.train, &plan.evaluate})
    for (const PlacedProgram& p : *programs) {
      all += program::print(p.program);
      all.append(reinterpret_cast<const char*>(p.placement.base.data()),
                 p.placement.base.size() * sizeof(program::Bytes));
    }
  all.append(reinterpret_cast<const char*>(plan.lr_table.data()),
             plan.lr_table.size() * sizeof(double));
  return hash_hex(all);
}

}  // namespace trainx::plan
