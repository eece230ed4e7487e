#include "plan/run_plan.hpp"
#include "core/hash.hpp"
#include "core/hub_cache.hpp"
#include "architectures/active_parameters.hpp"
#include "architectures/exported.hpp"
#include "architectures/unwritten.hpp"
#include "passes/passes.hpp"
#include "plan/batch.hpp"
#include "plan/check_programs.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/saving.hpp"
#include "plan/choose/experts.hpp"
#include "plan/choose/fit.hpp"
#include "plan/choose/kept_weights.hpp"
#include "plan/fp8_layers.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/micro_steps.hpp"
#include "plan/model_dims.hpp"
#include "plan/own_rule.hpp"
#include "plan/parameter_groups.hpp"
#include "plan/precision.hpp"
#include "plan/step_rates.hpp"
#include "facts/gpu_hardware.hpp"
#include "hardware/support.hpp"
#include "plan/update_rates.hpp"
#include "program/print.hpp"
#include "program/shards.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
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

/// Modules of the user's own are measured where the run computes.
void require_measured_there(const Decisions& plan) {
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  if (plan.on_gpu && custom && !custom->on_gpu())
    throw UserError(ExitCode::usage,
                    "plan --gpu: memory and time of modules of your own are measured on a GPU, and "
                    "this machine has none; plan on one that has, or leave --gpu out to plan for "
                    "the CPU");
}

// Why a GPU cannot compute the model, as the rest of a sentence; "" if it can.
std::string lacks_kernels(const recipe::Recipe& r, const architectures::ModelDims& dims) {
  if (r.precision.products == recipe::Products::fp8 && r.precision.compute != recipe::Compute::bf16)
    return "precision.products is fp8, which GPUs compute beside bf16 alone: write "
           "precision.compute: bf16";
  const std::string operation = architectures::without_gpu_kernel(dims);
  return operation.empty()
             ? ""
             : "model.type " + std::string(architectures::family_of(r.model.options)) +
                   (architectures::experts_of(dims) > 0 ? " with experts" : "") +
                   " computes on CPUs so far: GPUs have no kernel for its " + operation;
}

/// Throws UserError 69 for a GPU of this machine that the kernels of this build do not run on.
void require_supported(const facts::HardwareFacts& hardware) {
  const auto used =
      std::min<std::size_t>(hardware.gpus.size(), static_cast<std::size_t>(hardware.local_ranks));
  for (std::size_t i = 0; i < used; ++i)
    if (const auto no =
            hardware::why_unsupported(hardware.gpus[i].name, hardware.gpus[i].compute_capability))
      throw UserError(ExitCode::unavailable, no->sentence());
}

/// Throws UserError 78 for a type of which the GPU's tensor cores have no products.
void require_type(const recipe::Recipe& r, const std::string& gpu, int compute_capability) {
  if (compute_capability <= 0) return;
  if (r.precision.products == recipe::Products::fp8 && !hardware::has_fp8(compute_capability))
    throw UserError(
        ExitCode::invalid_recipe,
        "precision.products is fp8, in which " + gpu +
            " cannot multiply: its compute capability is below 8.9; write products: compute");
  if (r.precision.products == recipe::Products::fp8 &&
      r.precision.scaling == recipe::Scaling::blocks &&
      !hardware::has_fp8_blocks(compute_capability))
    throw UserError(ExitCode::invalid_recipe,
                    "precision.scaling is blocks, with which " + gpu +
                        " cannot multiply: cuBLASLt has such products for compute capability 9.0 "
                        "alone; write scaling: current");
  if (hardware::has_bf16_and_tf32(compute_capability)) return;
  const auto refuse = [&](const std::string& key, const std::string& type,
                          const std::string& remedy) {
    throw UserError(ExitCode::invalid_recipe, key + " is " + type + ", in which " + gpu +
                                                  " cannot multiply: its compute capability is " +
                                                  "below 8.0; write " + remedy);
  };
  if (r.precision.compute == recipe::Compute::bf16)
    refuse("precision.compute", "bf16", "fp16 or fp32");
  if (r.precision.compute == recipe::Compute::tf32) refuse("precision.compute", "tf32", "fp32");
  if (!r.eval.precision.is_auto() && *r.eval.precision.value == recipe::EvalPrecision::bf16)
    refuse("eval.precision", "bf16", "fp16 or auto");
}

void require_level_for_each_layer(const Decisions& plan) {
  const auto& levels = plan.recipe.memory.activation_checkpoint.value;
  if (!levels || levels->size() == 1) return;
  const int layers = graph_of(plan, plan.row_lengths.back(), plan.compute).layers();
  if (levels->size() != static_cast<std::size_t>(layers))
    throw UserError(ExitCode::invalid_recipe,
                    "memory.activation_checkpoint lists " + std::to_string(levels->size()) +
                        " levels, and the model has " + std::to_string(layers) +
                        " layers; give one for each, or one for all");
}

/// Throws UserError 78 where precision.first_last leaves no layer to precision.products.
void require_layer_in_fp8(const Decisions& plan) {
  if (fp8_layers_of(plan.recipe.precision) != graph::Fp8Layers::inner) return;
  const int layers = graph_of(plan, plan.row_lengths.back(), plan.compute).layers();
  if (layers <= 2)
    throw UserError(ExitCode::invalid_recipe,
                    "precision.first_last is compute, which leaves precision.products: fp8 no "
                    "layer: the model has " +
                        std::to_string(layers) + "; write first_last: fp8, or products: compute");
}

/// Throws UserError 78 where no product of the layers has sizes that a GPU multiplies in fp8.
void require_products_in_fp8(const Decisions& plan, const program::ModelGraph& graph) {
  const graph::Fp8Layers which = fp8_layers_of(plan.recipe.precision);
  if (which == graph::Fp8Layers::off || !plan.fp8_fallback.empty() ||
      count_fp8(graph, which).layers > 0)
    return;
  throw UserError(
      ExitCode::invalid_recipe,
      "precision.products is fp8, which a GPU multiplies where the sizes of weights and "
      "the tokens of a micro-batch are multiples of 16: none of the model's products "
      "are (tokens: " +
          std::to_string(graph.tokens) +
          "); change batch.micro_batch_size or model.options, or write products: "
          "compute");
}

bool asks_for_gpu(const recipe::Recipe& r) {
  return !r.run.device.is_auto() && *r.run.device.value == recipe::DeviceKind::gpu;
}

bool runs_on_gpu(const recipe::Recipe& r, const architectures::ModelDims& dims,
                 const facts::HardwareFacts& hardware, bool planned_for_gpu) {
  const bool asked = asks_for_gpu(r);
  const std::string lacks = lacks_kernels(r, dims);
  if (asked && !lacks.empty())
    throw UserError(ExitCode::invalid_recipe, "run.device is gpu, and " + lacks);
  if (!r.run.device.is_auto() && !planned_for_gpu) {
    if (!asked && r.precision.compute == recipe::Compute::tf32)
      throw UserError(
          ExitCode::invalid_recipe,
          "precision.compute is tf32, which only a GPU computes in, and run.device is cpu");
    return asked;
  }
  const bool has_gpu = planned_for_gpu || !hardware.gpus.empty();
  const bool gpu = lacks.empty() && has_gpu;
  if (!gpu && r.precision.compute == recipe::Compute::tf32)
    throw UserError(ExitCode::invalid_recipe,
                    "precision.compute is tf32, which only a GPU computes in, and " +
                        (lacks.empty() ? "there is none here" : lacks) + "; write fp32 or bf16");
  return gpu;
}

/// Where weights come from, and what their folder asks of dropout that the run does not do.
void note_folder(Decisions& plan, const facts::ModelFolderFacts& folder) {
  if (const auto snapshot = hub_snapshot_of(folder.path))
    plan.notes.push_back("model.init_from is " + describe(*snapshot) + ": " + folder.path);
  for (std::string& remark :
       architectures::dropout_remarks(folder.config, folder.path + "/config.json", plan.dims))
    plan.notes.push_back(std::move(remark));
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  const std::string family = custom ? architectures::exported_family(custom->options) : "";
  const auto own = recipe::alternative_names(plan.recipe.model.options);
  if (!family.empty() && std::ranges::find(own, family) != own.end())
    plan.notes.push_back("trainx has " + family +
                         " itself, with kernels of its own: give model.init_from the folder that "
                         "this one was exported from, without model.type");
}

/// Refuses a requested attention that cannot run here: no other one replaces it silently.
void require_attention(const Decisions& plan) {
  const AttentionKind kind = plan.recipe.model.attention;
  const bool packed = options::packs_documents(plan.recipe.data.source);
  const std::string asked = "model.attention: " + std::string(name_of(kind)) + " ";
  if (kind != AttentionKind::automatic && architectures::attention_dropout(plan.dims) > 0)
    throw UserError(ExitCode::invalid_recipe,
                    asked + "has no dropout: write auto, or model.options.attention_dropout: 0");
  if (kind != AttentionKind::automatic && architectures::has_own_attention(plan.dims))
    throw UserError(
        ExitCode::invalid_recipe,
        asked + "can have no effect: " + std::string(architectures::architecture_name(plan.dims)) +
            " has attention that trainx computes in one way; remove it");
  if (!plan.on_gpu && architectures::needs_gpu(kind))
    throw UserError(
        ExitCode::invalid_recipe,
        asked + "is a GPU's, and this run computes on the CPU: write auto, flash or math");
  std::visit(
      [&](const auto& d) {
        if constexpr (requires { d.attention; })
          for (const DType compute : {plan.compute, evaluation_dtype_of(plan.recipe)})
            if (const std::string why = plan.on_gpu ? architectures::unfit_attention(
                                                          kind, compute,
                                                          architectures::head_size(plan.dims),
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

/// CUDA graphs where they can be: code of the user's own may do what a graph cannot hold.
void decide_execution(Decisions& plan) {
  auto& execution = plan.recipe.run.execution;
  const std::string why = why_eager(plan);
  if (why.empty()) {
    if (execution.is_auto())
      execution.value = plan.on_gpu ? recipe::Execution::graph : recipe::Execution::eager;
    return;
  }
  if (execution.is_auto())
    plan.notes.push_back("run.execution auto takes eager: " + why);
  else if (*execution.value == recipe::Execution::graph)
    throw UserError(ExitCode::invalid_recipe,
                    "run.execution is graph, and " + why + "; write auto or eager");
  execution.value = recipe::Execution::eager;
}

}  // namespace

std::string why_eager(const Decisions& plan) {
  if (!plan.on_gpu) return {};
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  const std::string of_modules = custom ? custom->not_captured() : "";
  return of_modules.empty() ? own_rule_not_captured(plan) : of_modules;
}

bool computes_on_gpu(const recipe::Recipe& recipe, const facts::Facts& facts) {
  if (!recipe.run.device.is_auto()) return asks_for_gpu(recipe);
  if (facts.hardware.gpus.empty()) return false;
  recipe::Recipe r = recipe;
  return lacks_kernels(r, plan_model_dims(r, facts)).empty();
}

double RunPlan::flops_per_token() const {
  return step_flops(train.back()) * static_cast<double>(mesh.ranks()) /
         static_cast<double>(tokens_per_step);
}

RunPlan with_fallback(const RunPlan& plan, const facts::Facts& facts,
                      const std::set<std::string>& fp8_fallback) {
  return make_run_plan(plan.recipe, facts,
                       {.gpu = {},
                        .rank = plan.rank,
                        .every_micro_step = plan.every_micro_step,
                        .fp8_fallback = fp8_fallback});
}

RunPlan make_run_plan(const recipe::Recipe& recipe, const facts::Facts& facts,
                      const PlanOptions& options) {
  Decisions plan;
  Timetable times;
  Prediction prediction;
  plan.recipe = recipe;
  auto& r = plan.recipe;
  plan.every_micro_step = options.every_micro_step;
  plan.fp8_fallback = options.fp8_fallback;
  choose_mode(plan, options.rank);
  plan.batch = plan_batch(r.batch, *r.parallel.world_size.value);
  if (r.optimizer.update_in_backward && plan.batch.grad_accum_steps > 1 &&
      !r.batch.micro_batch_size.is_auto())
    throw UserError(
        ExitCode::invalid_recipe,
        "optimizer.update_in_backward cannot go together with batch.grad_accum_steps, which is " +
            std::to_string(plan.batch.grad_accum_steps) + " with " +
            std::to_string(plan.mesh.data) +
            " ranks: gradients of all micro-steps are summed before an update; raise "
            "batch.micro_batch_size or leave update_in_backward out");
  plan.dims = plan_model_dims(r, facts);
  plan.own_rule = facts.own_rule;
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
  if (r.optimizer.ema_decay)
    plan.update.states.push_back({.name = "ema", .averages_weights = true});
  plan.update.master = plan.master;
  plan.update.unit =
      std::visit([](const auto& o) { return options::unit_of(o); }, r.optimizer.options);
  plan.update.sums =
      std::visit([](const auto& o) { return options::tensor_sums_of(o); }, r.optimizer.options);

  share_experts(plan);

  std::optional<hardware::Hardware> device;
  if (!options.gpu.empty()) device = hardware::hardware_named(options.gpu);
  plan.on_gpu = runs_on_gpu(r, plan.dims, facts.hardware, device.has_value());
  if (device) require_measured_there(plan);
  if (plan.on_gpu && r.memory.release_cache_every)
    throw UserError(ExitCode::invalid_recipe,
                    "memory.release_cache_every can have no effect on a GPU: trainx allocates the "
                    "planned GPU memory once, and no library caches more; leave it out");
  if (device && plan.on_gpu) {
    require_type(r, device->name, device->compute_capability);
    plan.compute_capability = device->compute_capability;
    if (const auto no = hardware::why_unsupported(device->name, device->compute_capability))
      plan.notes.push_back("this is a plan alone: " + no->sentence());
  } else if (plan.on_gpu && !facts.hardware.gpus.empty()) {
    const facts::Gpu& gpu = facts.hardware.gpus.front();
    require_supported(facts.hardware);
    require_type(r, gpu.name, gpu.compute_capability);
    device = facts::hardware_of(gpu);
    plan.compute_capability = gpu.compute_capability;
  }

  const std::int64_t length = r.data.sequence_length,
                     tokens = length + (architectures::target_shift(plan.dims)
                                            ? architectures::target_length(plan.dims, length)
                                            : 0);
  auto steps = [&](const Duration& d, const char* key) {
    return steps_of(d, plan.batch, tokens, facts.data, key);
  };
  if (const auto total = steps(r.run.duration, "run.duration"))
    times.total_steps = *total;
  else
    times.total_seconds = r.run.duration.amount;
  times.schedule =
      plan_schedule(r.schedule, times.total_steps,
                    [&](const Duration& d, const char* key) { return steps(d, key).value_or(0); });
  if (times.schedule.warmup >= 0) require_plannable_table(times.schedule.warmup, "schedule.warmup");
  const bool constant = std::holds_alternative<options::ConstantSchedule>(r.schedule.course);
  const auto* adafactor = std::get_if<options::AdafactorOptions>(&r.optimizer.options);
  const bool follows_steps = adafactor && adafactor->relative_step;
  if (!constant || follows_steps) require_plannable_table(times.total_steps, "run.duration");
  if (follows_steps)
    for (std::int64_t t = 1; t <= std::max<std::int64_t>(times.total_steps, 1); ++t)
      times.lr_table.push_back(options::relative_step(*adafactor, static_cast<double>(t)));
  else
    times.lr_table = learning_rate_table(r.schedule, r.optimizer.lr, times.schedule);
  plan.update.lr_table_entries = static_cast<std::int64_t>(times.lr_table.size());
  auto interval = [&](const Duration& d, const char* key) {
    const auto n = steps(d, key);
    return n ? Interval{std::max<std::int64_t>(*n, 1), 0} : Interval{0, d.amount};
  };
  times.checkpoint_every = r.checkpoint.every.is_auto()
                               ? Interval{0, least_checkpoint_seconds}
                               : interval(*r.checkpoint.every.value, "checkpoint.every");
  times.eval_every = interval(r.eval.every, "eval.every");
  times.metrics_every = interval(r.metrics.every, "metrics.every");
  if (r.memory.release_cache_every)
    times.release_cache_every =
        interval(*r.memory.release_cache_every, "memory.release_cache_every");
  plan.tokens_per_step = plan.batch.global_batch_size * tokens;
  plan.nominal_targets =
      architectures::nominal_targets(plan.dims, plan.batch.global_batch_size, length);
  plan.train_samples = facts.data.train_samples;
  if (r.generate.every) times.generate_every = interval(*r.generate.every, "generate.every");
  if (facts.data.eval_present) {
    plan.eval_samples = facts.data.eval_samples;
    if (const auto& batches = r.eval.batches.value)
      plan.eval_samples =
          std::min(*batches * plan.batch.global_batch_size, facts.data.eval_samples);
  }
  if (r.run.device.is_auto() && (device || !facts.hardware.gpus.empty()) && !plan.on_gpu)
    plan.notes.push_back("run.device auto takes the CPU: " + lacks_kernels(r, plan.dims));
  if (!facts.data.train_present)
    plan.notes.push_back("training data is not there yet: " + facts.data.problem);
  if (r.model.init_from && facts.model_folder) note_folder(plan, *facts.model_folder);
  if (std::string unwritten = architectures::unwritten_dropout(plan.dims); !unwritten.empty())
    plan.notes.push_back(std::move(unwritten));

  // how long modules of the user's own compute is known where it was measured
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  const bool predicts = device && (!custom || custom->has_times());
  if (predicts) plan.rates = rates_of(*device, r.precision.compute);
  if (plan.rates && r.precision.scaling == recipe::Scaling::blocks)
    plan.rates->fp8_speedup = plan.rates->fp8_blocks_speedup;
  if (plan.rates && options.gpu.empty())
    use_measured_rates(*plan.rates, facts.hardware, plan.mesh.data);
  if (plan.rates && !r.run.execution.is_auto() &&
      *r.run.execution.value == recipe::Execution::eager)
    plan.rates->host_kernel_s = device->host_kernel_s;
  if (plan.rates) {
    plan.rates->update = update_rates(*device, r.optimizer.options, plan.compute, plan.master);
    const double of_rule = own_rule_element_s(plan, *plan.rates);
    if (of_rule > 0) plan.rates->update.element_s = of_rule;
  }
  const program::Rates* const rates = plan.rates ? &*plan.rates : nullptr;
  const std::int64_t budget =
      !r.memory.budget.is_auto() ? r.memory.budget.value->bytes
      : device                   ? device->memory_bytes
      : plan.on_gpu              ? facts.hardware.gpus.empty()
                                       ? 0
                                       : hardware::usable_bytes(facts.hardware.gpus.front().memory_bytes)
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
  require_layer_in_fp8(plan);
  if (!r.optimizer.groups.empty())
    require_groups_match(plan, graph_of(plan, plan.row_lengths.back(), plan.compute));
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
  if (std::string experts = shared_experts_words(plan); !experts.empty())
    plan.choices.push_back(std::move(experts));
  Programs programs = plan_programs(plan);
  if (plan.on_gpu) require_products_in_fp8(plan, programs.train.back().graph);

  if (r.memory.activation_offload == recipe::ActivationOffload::cpu &&
      offloaded_bytes(programs.train.back().program) == 0)
    throw UserError(ExitCode::invalid_recipe,
                    "memory.activation_offload can have no effect: with so few blocks no "
                    "activation stays long enough to be copied; write none");
  prediction.memory = plan_memory_budget(plan, programs);
  prediction.memory.budget_bytes = budget;
  require_fits(plan, prediction.memory);
  require_sound_programs(plan, programs);
  choose_asynchronous(plan, programs, prediction.memory);
  const std::int64_t here = facts.hardware.local_ranks, ranks = plan.mesh.data;
  if (here < ranks && ranks % here == 0) prediction.ranks_per_host = here;
  const bool of_this_machine = options.gpu.empty() && plan.on_gpu == !facts.hardware.gpus.empty();
  predict_rates(prediction, plan, predicts ? &*device : nullptr,
                of_this_machine ? facts.hardware.network : facts::NetworkFacts{});
  if (predicts) {
    prediction.rates_are_estimated = device->is_estimated;
    const bool tf32 = r.precision.compute == recipe::Compute::tf32,
               low = plan.compute != DType::f32;
    if (prediction.step_rates) {
      const PlacedProgram& longest = programs.train.back();
      prediction.time = program::predict_time(longest.program, longest.order, longest.graph,
                                              *prediction.step_rates);
      if (r.model.attention == AttentionKind::flash ||
          r.model.attention == AttentionKind::efficient)
        plan.notes.push_back("attention by " + std::string(name_of(r.model.attention)) +
                             " was not measured: its time is predicted as that of auto");
      if (options::packs_documents(r.data.source))
        plan.notes.push_back(
            "attention inside documents (data.packed) depends on their lengths: its time is "
            "predicted for one document per row");
    }
    // what modules compute is not known
    prediction.peak_flops = custom ? 0
                            : low  ? device->bf16_peak_flops
                            : tf32 ? device->tf32_peak_flops
                                   : device->fp32_peak_flops;
  }

  // What was `auto` or derived is written into the recipe, so that the run's resolved.yaml says it.
  if (prediction.memory.budget_bytes > 0)
    r.memory.budget.value = ByteSize{prediction.memory.budget_bytes};
  r.batch = {
      plan.batch.global_batch_size, {plan.batch.micro_batch_size}, plan.batch.grad_accum_steps};
  r.run.device.value = plan.on_gpu ? recipe::DeviceKind::gpu : recipe::DeviceKind::cpu;
  if (!plan.on_gpu && !r.run.execution.is_auto() &&
      *r.run.execution.value == recipe::Execution::graph)
    throw UserError(ExitCode::invalid_recipe,
                    "run.execution is graph, which only a GPU replays, and this run computes on "
                    "the CPU; write auto");
  decide_execution(plan);
  if (std::string note = own_rule_note(plan); !note.empty()) plan.notes.push_back(std::move(note));
  if (plan.compute != DType::f32 && r.precision.master.is_auto())
    r.precision.master.value = plan.master == program::Master::fp32 ? recipe::MasterWeights::fp32
                                                                    : recipe::MasterWeights::split;
  return {std::move(plan), std::move(times), std::move(programs), std::move(prediction)};
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
