#include "train/checkpoints.hpp"
#include "train/fp8_shares.hpp"
#include "train/module_buffers.hpp"
#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/weights_index.hpp"
#include "core/error.hpp"
#include "core/hub_cache.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include "recipe/value.hpp"
#include "architectures/architecture.hpp"
#include <nlohmann/json.hpp>
#include <cmath>
#include <filesystem>

namespace trainx::train {
using nlohmann::json;

namespace {

json or_null(const std::optional<double>& x) { return x ? json(*x) : json(nullptr); }
std::optional<double> value_or_nothing(const json& j) {
  return j.is_null() ? std::nullopt : std::optional(j.get<double>());
}

json best_of(const plan::RunPlan& plan, const TrainState& state) {
  return {{"metric", best_metric(plan)},
          {"value", or_null(state.best_value)},
          {"step", state.best_step}};
}

void read_best(const json& j, SavedState& saved) {
  if (const auto best = j.find("best"); best != j.end()) {
    best->at("metric").get_to(saved.best_metric);
    saved.state.best_value = value_or_nothing(best->at("value"));
    best->at("step").get_to(saved.state.best_step);
  } else {  // older checkpoints: the loss was all there was
    saved.best_metric = "loss, lower";
    saved.state.best_value = value_or_nothing(j.at("best_eval_loss"));
    j.at("best_step").get_to(saved.state.best_step);
  }
}

// Keys that older checkpoints lack.
void read_watches(const json& j, TrainState& state) {
  if (!j.contains("schedule")) return;
  state.stop_value = value_or_nothing(j.at("early_stopping").at("value"));
  j.at("early_stopping").at("stale_evaluations").get_to(state.stale_evaluations);
  j.at("lr").get_to(state.lr);
  j.at("last_loss_finite").get_to(state.last_loss_finite);
  state.held_out_finite = j.value("held_out_finite", true);
  j.at("schedule").at("from_step").get_to(state.schedule.from_step);
  j.at("schedule").at("from_applied").get_to(state.schedule.from_applied);
  j.at("schedule").at("until").get_to(state.schedule.until);
  state.unlogged_loss_sum = value_or_nothing(j.at("unlogged").at("loss_sum")).value_or(NAN);
  j.at("unlogged").at("targets").get_to(state.unlogged_targets);
  if (const auto metrics = j.at("unlogged").find("metrics"); metrics != j.at("unlogged").end())
    for (const json& sum : *metrics)
      state.unlogged_metrics.push_back(value_or_nothing(sum).value_or(NAN));
  j.at("running_loss").at("mean").get_to(state.running_loss.mean);
  j.at("running_loss").at("steps").get_to(state.running_loss.steps);
}

/// Under the names that PEFT has for them.
std::vector<checkpoint::TensorSource> adapter_weights(const plan::AdapterPlan& adapter,
                                                      const state::ResidentState& resident) {
  const std::vector<checkpoint::TensorSource> all = resident.weights();
  std::map<std::string_view, const checkpoint::TensorSource*> by_name;
  for (const checkpoint::TensorSource& tensor : all) by_name.emplace(tensor.name, &tensor);
  std::vector<checkpoint::TensorSource> out;
  for (const auto* tensors : {&adapter.tensors, &adapter.base_tensors})
    for (const auto& [name, parameter] : *tensors) {
      out.push_back(*by_name.at(parameter));
      out.back().name = name;
    }
  return out;
}

/// The base by its id, or by a path that does not depend on where the run was started.
adapter::Config saved_config(const plan::RunPlan& plan) {
  adapter::Config config = plan.adapter->config;
  if (!config.base_model) return config;
  const auto snapshot = hub_snapshot_of(*config.base_model);
  config.base_model =
      snapshot ? snapshot->id
               : std::filesystem::absolute(*config.base_model).lexically_normal().string();
  return config;
}

}  // namespace

std::string best_metric(const plan::RunPlan& plan) {
  const auto& best = plan.recipe.eval.best;
  return recipe::write_value(best.metric) + (recipe::prefers_higher(best) ? ", higher" : ", lower");
}

checkpoint::Contents checkpoint_contents(const plan::RunPlan& plan,
                                         const state::ResidentState& resident,
                                         const TrainState& state, std::int64_t threads,
                                         const std::map<std::string, std::string>& carried) {
  checkpoint::Contents c;
  c.text_files = carried;
  c.text_files.erase(module_buffers_file);
  if (std::string buffers = module_buffers_text(); !buffers.empty())
    c.text_files[module_buffers_file] = std::move(buffers);
  if (plan.adapter) {
    c.tensor_files[checkpoint::adapter_weights_name] = adapter_weights(*plan.adapter, resident);
    c.whole_files = {checkpoint::adapter_weights_name};
    c.text_files[checkpoint::adapter_config_name] = adapter::config_text(saved_config(plan));
  } else {
    c.tensor_files[checkpoint::single_weights_name] = resident.weights();
    c.text_files["config.json"] = architectures::config_text(plan.dims, DType::f32);
  }
  c.tensor_files["optimizer.safetensors"] = resident.states();
  json j{{"step", state.step},
         {"applied_steps", state.applied_steps},
         {"tokens_seen", state.tokens_seen},
         {"seconds", state.seconds},
         {"best", best_of(plan, state)},
         {"early_stopping",
          {{"value", or_null(state.stop_value)}, {"stale_evaluations", state.stale_evaluations}}},
         {"lr", state.lr},
         {"last_loss_finite", state.last_loss_finite},
         {"schedule",
          {{"from_step", state.schedule.from_step},
           {"from_applied", state.schedule.from_applied},
           {"until", state.schedule.until}}},
         // NaN becomes null
         {"unlogged", {{"loss_sum", state.unlogged_loss_sum}, {"targets", state.unlogged_targets}}},
         {"running_loss", {{"mean", state.running_loss.mean}, {"steps", state.running_loss.steps}}},
         {"threads", threads},
         {"world_size", plan.mesh.world},
         {"compute", name_of(plan.compute)},
         {"loader",
          {{"next_position", state.step * plan.batch.global_batch_size},
           {"samples", plan.train_samples}}}};
  if (!state.held_out_finite) j["held_out_finite"] = false;
  if (state.own_lr) j["own_lr"] = *state.own_lr;
  if (!state.unlogged_metrics.empty()) j["unlogged"]["metrics"] = state.unlogged_metrics;
  if (plan.compute == DType::f16)
    j["loss_scale"] = {{"scale", state.loss_scale}, {"finite_steps", state.finite_steps}};
  if (!state.fp8_ranges.empty()) j["fp8_ranges"] = fp8_ranges_text(state.fp8_ranges);
  if (!state.fp8_fallback.empty()) j["fp8_fallback"] = state.fp8_fallback;
  for (const auto& [tensor, sum] : state.fp8_saturation)
    j["fp8_saturation"][std::to_string(tensor)] = sum;
  c.text_files["trainer_state.json"] = j.dump(2) + "\n";
  return c;
}

SavedState read_saved_state(const std::string& folder) {
  const std::string path = folder + "/trainer_state.json";
  const json j = json::parse(read_json_text(path), nullptr, false);
  try {
    SavedState saved;
    j.at("step").get_to(saved.state.step);
    j.at("applied_steps").get_to(saved.state.applied_steps);
    j.at("tokens_seen").get_to(saved.state.tokens_seen);
    j.at("seconds").get_to(saved.state.seconds);
    read_best(j, saved);
    read_watches(j, saved.state);
    if (const auto own = j.find("own_lr"); own != j.end()) saved.state.own_lr = own->get<double>();
    if (j.contains("loss_scale")) {
      j.at("loss_scale").at("scale").get_to(saved.state.loss_scale);
      j.at("loss_scale").at("finite_steps").get_to(saved.state.finite_steps);
    }
    if (j.contains("fp8_ranges"))
      saved.state.fp8_ranges = fp8_ranges_from(j.at("fp8_ranges").get<std::string>(), path);
    if (j.contains("fp8_fallback")) j.at("fp8_fallback").get_to(saved.state.fp8_fallback);
    if (j.contains("fp8_saturation"))
      for (const auto& [tensor, sum] : j.at("fp8_saturation").items())
        saved.state.fp8_saturation[fp8_tensor_from(tensor, path)] = sum.get<double>();
    j.at("threads").get_to(saved.threads);
    saved.world_size = j.value("world_size", std::int64_t{1});
    j.at("loader").at("samples").get_to(saved.train_samples);
    return saved;
  } catch (const json::exception& e) {
    throw UserError(ExitCode::bad_data, path + " is not a state that trainx saved: " + e.what());
  }
}

}  // namespace trainx::train
