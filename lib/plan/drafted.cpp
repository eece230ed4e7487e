#include "plan/drafted.hpp"
#include "core/hub_cache.hpp"
#include "architectures/exported.hpp"
#include "architectures/unwritten.hpp"
#include "plan/adapter.hpp"
#include "plan/attention.hpp"
#include "plan/batch.hpp"
#include "plan/choose/experts.hpp"
#include "plan/choose/layers_in_parts.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/device.hpp"
#include "plan/fp8_layers.hpp"
#include "plan/limits.hpp"
#include "plan/model_dims.hpp"
#include "plan/own_rule.hpp"
#include "plan/parameter_groups.hpp"
#include "plan/precision.hpp"
#include "plan/step_rates.hpp"
#include "plan/update_rates.hpp"
#include "facts/gpu_hardware.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

void require_level_for_each_layer(const Draft& plan) {
  const auto& levels = plan.recipe.memory.activation_checkpoint.value;
  if (!levels || levels->size() == 1) return;
  const int layers = graph_of(plan, plan.row_lengths.back(), plan.compute).layers();
  if (levels->size() != static_cast<std::size_t>(layers))
    throw UserError(ExitCode::invalid_recipe,
                    "memory.activation_checkpoint lists " + std::to_string(levels->size()) +
                        " levels, and the model has " + std::to_string(layers) +
                        " layers; give one for each, or one for all");
}

/// Where weights come from, and what their folder asks of dropout that the run does not do.
void note_folder(Draft& plan, const facts::ModelFolderFacts& folder) {
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

void require_update_in_backward(const Draft& plan) {
  const recipe::Recipe& r = plan.recipe;
  if (r.optimizer.update_in_backward && plan.batch.grad_accum_steps > 1 &&
      !r.batch.micro_batch_size.is_auto())
    throw UserError(
        ExitCode::invalid_recipe,
        "optimizer.update_in_backward cannot go together with batch.grad_accum_steps, which is " +
            std::to_string(plan.batch.grad_accum_steps) + " with " +
            std::to_string(plan.mesh.world) +
            " ranks: gradients of all micro-steps are summed before an update; raise "
            "batch.micro_batch_size or leave update_in_backward out");
}

void require_weights_for_texts(const Draft& plan) {
  if (plan.recipe.generate.every && plan.zero_stage() > 0)
    throw UserError(ExitCode::invalid_recipe,
                    "generate.every needs all weights on one rank, and parallel.mode is " +
                        recipe::write_value(plan.mode) +
                        ", which keeps them in shards; leave generate out, or "
                        "write parallel.mode: ddp");
}

/// Everything of the update that follows from the recipe, except the number of learning rates.
void describe_update(Draft& plan) {
  const recipe::Recipe& r = plan.recipe;
  plan.compute = dtype_of(r.precision.compute);
  plan.master = master_of(r.precision);
  const bool fixed_scale = !r.precision.loss_scale.is_auto();
  plan.loss_scale = {fixed_scale ? *r.precision.loss_scale.value : r.precision.initial_loss_scale,
                     fixed_scale ? 0 : r.precision.loss_scale_window};
  if (plan.mode == recipe::ParallelMode::dp && plan.compute != DType::f16) plan.loss_scale = {1, 0};
  plan.update.states =
      std::visit([](const auto& o) { return options::states(o); }, r.optimizer.options);
  if (r.optimizer.ema_decay)
    plan.update.states.push_back({.name = "ema", .averages_weights = true});
  plan.update.master = plan.master;
  plan.update.unit =
      std::visit([](const auto& o) { return options::unit_of(o); }, r.optimizer.options);
  plan.update.sums =
      std::visit([](const auto& o) { return options::tensor_sums_of(o); }, r.optimizer.options);
}

/// Samples of an epoch and of an evaluation. `tokens`: of a sample.
void count_samples(Draft& plan, const facts::DataFacts& data, std::int64_t tokens) {
  const recipe::Recipe& r = plan.recipe;
  plan.tokens_per_step = plan.batch.global_batch_size * tokens;
  plan.nominal_targets = architectures::nominal_targets(plan.dims, plan.batch.global_batch_size,
                                                        r.data.sequence_length);
  plan.train_samples = data.train_samples;
  if (data.eval_present) {
    plan.eval_samples = data.eval_samples;
    if (const auto& batches = r.eval.batches.value)
      plan.eval_samples = std::min(*batches * plan.batch.global_batch_size, data.eval_samples);
  }
  if (!data.train_present) plan.notes.push_back("training data is not there yet: " + data.problem);
}

/// Times of modules of the user's own are known where they were measured.
bool knows_times(const Draft& plan) {
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  return !custom || custom->has_times();
}

/// `here`: the run is for this machine, whose rates may have been measured.
void choose_rates(Draft& plan, const hardware::Hardware& device,
                  const facts::HardwareFacts& hardware, bool here) {
  const recipe::Recipe& r = plan.recipe;
  plan.rates = rates_of(device, r.precision.compute);
  if (!plan.rates) return;
  program::Rates& rates = *plan.rates;
  if (r.precision.scaling == recipe::Scaling::blocks) rates.fp8_speedup = rates.fp8_blocks_speedup;
  if (here) use_measured_rates(rates, hardware, plan.mesh.world);
  if (!r.run.execution.is_auto() && *r.run.execution.value == recipe::Execution::eager)
    rates.host_kernel_s = device.host_kernel_s;
  rates.update = update_rates(device, r.optimizer.options, plan.compute, plan.master);
  const double of_rule = own_rule_element_s(plan, rates);
  if (of_rule > 0) rates.update.element_s = of_rule;
}

/// Bytes that a rank may use; 0: not known.
std::int64_t memory_budget(const Draft& plan, const hardware::Hardware* device,
                           const facts::HardwareFacts& hardware) {
  const recipe::Recipe& r = plan.recipe;
  if (!r.memory.budget.is_auto()) return r.memory.budget.value->bytes;
  if (device) return device->memory_bytes;
  if (!plan.on_gpu) return hardware.memory_bytes / hardware.local_ranks;
  return hardware.gpus.empty() ? 0 : hardware::usable_bytes(hardware.gpus.front().memory_bytes);
}

void note_disk(Draft& plan, const facts::Facts& facts, bool here) {
  if (!uses_disk(plan) || !facts.offload_folder) return;
  if (facts.offload_folder->free_bytes)
    plan.disk_free_bytes = *facts.offload_folder->free_bytes / facts.hardware.local_ranks;
  if (plan.rates && here)
    plan.rates->disk_bytes_per_s = facts.offload_folder->bytes_per_s /
                                   static_cast<double>(facts.hardware.local_ranks);
}

/// Of the ranks of a host; nothing: as the device's data sheet has them.
std::optional<hardware::Links> links_between(const Draft& plan, const hardware::Hardware* device,
                                             const facts::HardwareFacts& hardware,
                                             const PlanOptions& options) {
  const std::int64_t ranks = std::min<std::int64_t>(plan.mesh.world, hardware.local_ranks);
  if (options.links && device) return device->links.of(*options.links, ranks, device->name);
  return options.gpu.empty() ? facts::links_of(hardware, ranks) : std::nullopt;
}

}  // namespace

Drafted draft_run(const recipe::Recipe& recipe, const facts::Facts& facts,
                  const PlanOptions& options) {
  Drafted drafted;
  Draft& plan = drafted.plan;
  Prediction& prediction = drafted.prediction;
  plan.recipe = recipe;
  auto& r = plan.recipe;
  plan.every_micro_step = options.every_micro_step;
  plan.fp8_fallback = options.fp8_fallback;
  choose_mode(plan);
  plan.batch = plan_batch(r.batch, plan.mesh.batches(), batches_factor(plan));
  require_update_in_backward(plan);
  plan.dims = plan_model_dims(r, facts);
  plan.own_rule = facts.own_rule;
  plan.row_lengths = recipe::row_lengths(r.data);
  require_plannable(plan);
  plan.threads = facts.hardware.threads_of_rank();
  plan.local_ranks = std::min<std::int64_t>(plan.mesh.world, facts.hardware.local_ranks);
  describe_update(plan);
  plan.adapter = plan_adapter(plan, facts);
  if (plan.adapter) {
    plan.choices.push_back(adapter_words(*plan.adapter));
    for (const std::string& warning : plan.adapter->warnings) plan.notes.push_back(warning);
  }
  share_experts(plan);

  const bool here = options.gpu.empty();
  const auto& device = drafted.device = choose_device(plan, facts.hardware, options.gpu);
  const std::int64_t length = r.data.sequence_length,
                     tokens = length + (architectures::target_shift(plan.dims)
                                            ? architectures::target_length(plan.dims, length)
                                            : 0);
  drafted.times = plan_timetable(plan, facts.data, tokens);
  plan.update.lr_table_entries = static_cast<std::int64_t>(drafted.times.lr_table.size());
  count_samples(plan, facts.data, tokens);
  if (r.model.init_from && facts.model_folder) note_folder(plan, *facts.model_folder);
  if (std::string unwritten = architectures::unwritten_dropout(plan.dims); !unwritten.empty())
    plan.notes.push_back(std::move(unwritten));

  const bool predicts = drafted.predicts = device && knows_times(plan);
  if (predicts) choose_rates(plan, *device, facts.hardware, here);
  plan.budget_bytes = memory_budget(plan, device ? &*device : nullptr, facts.hardware);
  require_attention(plan);
  if (here) plan.host_memory_bytes = facts.hardware.memory_bytes / facts.hardware.local_ranks;
  note_disk(plan, facts, here);
  require_level_for_each_layer(plan);
  require_layer_in_fp8(plan);
  if (!r.optimizer.groups.empty())
    require_groups_match(plan, graph_of(plan, plan.row_lengths.back(), plan.compute));
  place_optimizer(plan);
  require_shards_on_host(plan);
  require_weights_for_texts(plan);
  const std::int64_t of_host = facts.hardware.local_ranks, ranks = plan.mesh.world;
  if (of_host < ranks && ranks % of_host == 0) prediction.ranks_per_host = of_host;
  const bool of_this_machine = here && plan.on_gpu == !facts.hardware.gpus.empty();
  predict_rates(prediction, plan, predicts ? &*device : nullptr,
                of_this_machine ? facts.hardware.network : facts::NetworkFacts{},
                links_between(plan, device ? &*device : nullptr, facts.hardware, options));
  plan.knows_links = drafted.rates() && drafted.rates()->link_bytes_per_s > 0 &&
                     prediction.assumed_link_bytes_per_s <= 0;
  return drafted;
}

}  // namespace trainx::plan
