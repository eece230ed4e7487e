#include "beginning.hpp"
#include "checkpoint/verify.hpp"
#include "closing_words.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/hub_cache.hpp"
#include "core/json_text.hpp"
#include "data_files.hpp"
#include "metrics/run_files.hpp"
#include "model/custom/buffers.hpp"
#include "model/model.hpp"
#include "start.hpp"
#include "status.hpp"
#include "train/module_buffers.hpp"
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

bool is_finished(const plan::RunPlan& plan, const train::TrainState& state) {
  if (!early_words(plan, state).empty()) return true;
  return plan.total_steps >= 0 ? state.step >= plan.total_steps
                               : state.seconds >= plan.total_seconds;
}

/// Before values that do not compare with those of before: a fork's, or of another metric.
void forget_evaluations(train::TrainState& state) {
  state.best_value.reset();
  state.stop_value.reset();
  state.best_step = state.stale_evaluations = 0;
}

}  // namespace

std::string to_text(const Beginning& b) {
  return nlohmann::json{
      {"from", b.from}, {"own", b.own}, {"with_states", b.with_states}, {"finished", b.finished}}
      .dump();
}

Beginning beginning_from(const std::string& text) {
  const auto j = nlohmann::json::parse(text);
  return {j.at("from"), j.at("own"), j.at("with_states"), j.at("finished")};
}

train::SavedState read_state(const std::string& checkpoint, const plan::RunPlan& plan) {
  train::SavedState saved = train::read_saved_state(checkpoint);
  if (saved.best_metric != train::best_metric(plan)) forget_evaluations(saved.state);
  return saved;
}

Beginning begin(OwnFolder& own, const std::string& path, const std::string& fork_source,
                const plan::RunPlan& plan, const std::vector<data::DataFile>& files,
                metrics::Console& console) {
  // once more: only now nobody else writes there
  const Start start = find_start(path, fork_source, plan.recipe, console);
  Beginning b{start.from.path, start.own, start.with_states, false};
  if (!start.own) return b;
  const train::SavedState saved = read_state(start.from.path, plan);
  own.folder.require_same_run(plan.recipe);
  if (saved.train_samples != plan.train_samples)
    throw UserError(ExitCode::invalid_recipe,
                    path + ": the training data has " + std::to_string(plan.train_samples) +
                        " samples, the run began with " + std::to_string(saved.train_samples) +
                        "; give it its data back, or train on with `--fork NAME`");
  require_same_files(path, start.from.path, files);
  own.store.mend(start.from, saved.state.best_step);
  b.finished = is_finished(plan, saved.state);
  if (b.finished) {
    if (const std::string why = train::divergence_of(saved.state); !why.empty())
      throw UserError(ExitCode::diverged, path + ": " + why);
    metrics::RunStatus status = run_status(plan, saved.state);
    status.state = "done";
    status.reason = early_words(plan, saved.state);
    status.saved_step = saved.state.step;
    metrics::write_status(own.folder.file("status.json"), status);
    const bool early = !status.reason.empty();
    console.done(saved.state.step, path,
                 path + ": already done, " + std::to_string(saved.state.step) + " steps" +
                     (early ? " (" + status.reason + "); a higher eval.early_stopping.patience"
                            : "; a longer run.duration") +
                     " resumes it");
  }
  return b;
}

bool overwrites(const launch::Job& job, const train::RunFolder& folder) {
  return !job.overwrite.empty() &&
         metrics::run_info_text(folder.file("run.json"), "overwrite") != job.overwrite;
}

void require_outside(const recipe::Recipe& recipe, const std::string& path) {
  if (!recipe.model.init_from) return;
  const auto from = std::filesystem::weakly_canonical(*recipe.model.init_from) / "",
             folder = std::filesystem::weakly_canonical(path) / "";
  if (from.string().starts_with(folder.string()))
    throw UserError(
        ExitCode::usage,
        "--overwrite: model.init_from (" + *recipe.model.init_from + ") lies in " + path +
            ", which would be removed; copy it elsewhere, or give run.name another value");
}

void load(train::TrainingParts& parts, const Beginning& start, train::TrainState& state,
          metrics::Console* console) {
  const plan::RunPlan& plan = parts.plan;
  const bool tells = console && parts.ranks.is_first();
  parts.resident.initialize(
      model::weight_initializer(plan.dims, static_cast<std::uint64_t>(plan.recipe.run.seed)),
      state::ResidentState::Memory::new_arena);
  model::begin_buffers(plan.dims, static_cast<std::uint64_t>(plan.recipe.run.seed));
  const bool goes_on = !start.from.empty();
  if (goes_on && !plan.adapter) {
    parts.resident.load_weights(start.from, plan.dims);
    train::load_module_buffers(start.from);
  } else if (plan.recipe.model.init_from) {
    const std::string& from = *plan.recipe.model.init_from;
    if (tells) {
      checkpoint::require_sound(from);
      if (const auto snapshot = hub_snapshot_of(from))
        console->message("weights: " + describe(*snapshot) + ": " + from);
      const std::string config = model_folder_of(from) + "/config.json";
      for (const std::string& remark :
           architectures::dropout_remarks(read_json_text(config), config, plan.dims))
        console->warning(remark);
    }
    const auto begun = parts.resident.start_from(from, plan.dims,
                                                 static_cast<std::uint64_t>(plan.recipe.run.seed));
    train::load_module_buffers(from);
    if (!begun.empty() && tells)
      console->warning(from + " lacks tensors of the model: " + begun.front() +
                       (begun.size() > 1
                            ? " and " + std::to_string(begun.size() - 1) + " more start"
                            : " starts") +
                       " from random values (run.seed)");
  }
  if (plan.adapter && !plan.adapter->parted.head.empty() && !plan.recipe.model.init_from)
    parts.resident.begin_as(plan.adapter->parted.head, plan.adapter->parted.table);
  const auto& adapter_from = plan.recipe.model.adapter.init_from;
  if (plan.adapter && !goes_on && !adapter_from)
    parts.resident.begin_token_rows(plan.adapter->replaced);
  if (plan.adapter && (goes_on || adapter_from))
    parts.resident.load_adapter(goes_on ? start.from : *adapter_from, *plan.adapter);
  if (goes_on && start.with_states) parts.resident.load_states(start.from);
  if (goes_on && !start.own) forget_evaluations(state);
}

}  // namespace trainx::worker
