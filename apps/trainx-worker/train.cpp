#include "carried_files.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "joined_ranks.hpp"
#include "metrics/run_files.hpp"
#include "model/model.hpp"
#include "start.hpp"
#include "trained_in.hpp"
#include "status.hpp"
#include "train/attest_observer.hpp"
#include "train/observers.hpp"
#include "train/profile_observer.hpp"
#include "train/release_observer.hpp"
#include "train/tune_observer.hpp"
#include "train/run_folder.hpp"
#include "recipe/value.hpp"
#include "train/threads.hpp"
#include <algorithm>
#include <csignal>
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

void write_run_files(const train::RunFolder& folder, const plan::RunPlan& plan, const launch::Job& job) {
  write_file_atomic(folder.file("recipe.yaml"), job.recipe_source);
  write_file_atomic(folder.file("resolved.yaml"), recipe::dump(plan.recipe));
  write_file_atomic(folder.file("plan.json"), plan::to_json(plan, true).dump(2) + "\n");
  metrics::write_run_info(folder.file("run.json"), {std::string(version), host_name(), plan.on_gpu ? job.facts.hardware.gpus : std::vector<std::string>{job.facts.hardware.cpu}, job.argv, utc_time(), job.origins});
}

std::vector<metrics::Setting> settings_of(const plan::RunPlan& plan, const launch::Job& job) {
  std::vector<metrics::Setting> out;
  for (const auto& [key, value] : recipe::flatten(plan.recipe)) {
    const auto origin = job.origins.find(key);
    out.push_back({key, value, origin == job.origins.end() ? "planned" : origin->second});
  }
  return out;
}

std::string closing_words(const launch::Job& job, const spec::ModelDims& dims, const train::RunFolder& folder, const train::TrainState& state, const std::optional<double>& floor) {
  std::string text = "trained " + std::to_string(state.step) + " steps in " + human_seconds(state.seconds) + "; the model is in " + folder.file("latest") + " (a Hugging Face folder), the log in " +
                     folder.file("metrics.jsonl") + "\n";
  if (std::isfinite(state.best_eval_loss)) {
    char line[160];
    if (floor)
      std::snprintf(line, sizeof line, "held-out loss %.4f at best (step %lld), %.1f %% above the data's entropy of %.4f\n", state.best_eval_loss, static_cast<long long>(state.best_step),
                    100 * (state.best_eval_loss / *floor - 1), *floor);
    else
      std::snprintf(line, sizeof line, "held-out loss %.4f at best (step %lld)\n", state.best_eval_loss, static_cast<long long>(state.best_step));
    text += line;
  }
  const bool generates = spec::task(dims) == spec::Task::causal_lm && !std::holds_alternative<spec::CustomDims>(dims);
  const std::string next = generates ? "generate " + folder.path() + " --prompt " + (job.facts.data.entropy_floor_nats ? "\"Once\"" : "\"...\"")
                                                                     : "export " + folder.path() + " FOLDER";
  return text + "next: trainx " + next + "   or train on: the same command with a longer run.duration";
}

bool is_finished(const plan::RunPlan& plan, const train::TrainState& state) {
  return plan.total_steps >= 0 ? state.step >= plan.total_steps : state.seconds >= plan.total_seconds;
}

int exit_code_of(train::Request request) {
  switch (request) {
    case train::Request::terminate: return 128 + SIGTERM;
    case train::Request::interrupt: return 128 + SIGINT;
    case train::Request::stop_and_rerun: return static_cast<int>(ExitCode::stopped_early);
    case train::Request::none: case train::Request::save_and_go_on: break;
  }
  return 0;
}

/// Where the run begins, as rank 0 found it: the same for all.
struct Beginning {
  std::string from;                     // a checkpoint's folder; empty: anew
  bool own = false, with_states = true, finished = false;
};

std::string to_text(const Beginning& b) { return nlohmann::json{{"from", b.from}, {"own", b.own}, {"with_states", b.with_states}, {"finished", b.finished}}.dump(); }

Beginning beginning_from(const std::string& text) {
  const auto j = nlohmann::json::parse(text);
  return {j.at("from"), j.at("own"), j.at("with_states"), j.at("finished")};
}

/// A run's folder, which rank 0 alone writes.
struct OwnFolder {
  train::RunFolder folder;
  checkpoint::Store store;
  explicit OwnFolder(const std::string& path) : folder(path), store(path) {}
};

/// Looks for the checkpoint to go on from, and says that there is nothing to do where the run is at its end.
Beginning begin(OwnFolder& own, const std::string& path, const std::string& fork_source, const plan::RunPlan& plan, metrics::Console& console) {
  const Start start = find_start(path, fork_source, plan.recipe, console);   // once more: only now nobody else writes there
  Beginning b{start.from.path, start.own, start.with_states, false};
  if (!start.own) return b;
  const train::SavedState saved = train::read_saved_state(start.from.path);
  own.folder.require_same_run(plan.recipe);
  if (saved.train_samples != plan.train_samples)
    throw UserError(ExitCode::invalid_recipe, path + ": the training data has " + std::to_string(plan.train_samples) + " samples, the run began with " + std::to_string(saved.train_samples) +
                                                  "; give it its data back, or train on with `--fork NAME`");
  b.finished = is_finished(plan, saved.state);
  if (b.finished) {
    metrics::write_status(own.folder.file("status.json"), {"done", "", 0, saved.state.step, false});
    console.done(saved.state.step, path, path + ": already done, " + std::to_string(saved.state.step) + " steps; a longer run.duration goes on");
  }
  return b;
}

/// Weights and states with which the run begins.
void load(train::TrainingParts& parts, const Beginning& start, train::TrainState& state, metrics::Console& console) {
  const plan::RunPlan& plan = parts.plan;
  parts.resident.initialize(model::weight_initializer(plan.dims, static_cast<std::uint64_t>(plan.recipe.run.seed)), train::ResidentState::Memory::new_arena);
  if (!start.from.empty()) {
    parts.resident.load_weights(start.from, plan.dims);
    if (start.with_states) parts.resident.load_states(start.from);
    if (!start.own) state.best_eval_loss = std::numeric_limits<double>::infinity(), state.best_step = 0;
  } else if (plan.recipe.model.init_from) {
    const std::string& from = *plan.recipe.model.init_from;
    const auto begun = parts.resident.load_weights(from, plan.dims, train::MissingHead::keep);
    if (!begun.empty() && parts.ranks.is_first())
      console.warning(from + " was made for another task: it has no " + begun.front() + (begun.size() > 1 ? " and " + std::to_string(begun.size() - 1) + " more tensors of this one" : "") +
                      ", which begin" + (begun.size() > 1 ? "" : "s") + " as drawn from run.seed");
  }
}

std::string what_is_on_disk(const plan::RunPlan& plan) {
  const auto& memory = plan.recipe.memory;
  if (memory.parameter_offload != recipe::ParameterOffload::disk) return "the optimizer";
  return recipe::uses_disk(memory.optimizer_offload.where) ? "weights and the optimizer" : "weights";
}

/// All but finding the beginning: loads, trains, saves.
int run(const launch::Job& job, const plan::RunPlan& plan, const Beginning& start, train::TrainState& state, std::int64_t threads, const std::string& path, std::optional<OwnFolder>& own,
        train::TrainingParts& parts, metrics::Console& console) {
  const train::Ranks& ranks = parts.ranks;
  const std::string began_from = !start.from.empty() ? start.from : plan.recipe.model.init_from.value_or("");
  const auto carried = carried_files(began_from, plan, ranks.is_first() ? &console : nullptr);
  {
    const train::Ranks::Busy busy(ranks, "loading weights");
    if (!plan.is_replica()) load(parts, start, state, console);
  }
  ranks.require_equal(plan.shares_batches() && ranks.world_size() > 1 ? parts.resident.weights_hash() : "", "weights");
  const std::optional<std::int64_t> saved_step = start.own ? std::optional(state.step) : std::nullopt;
  if (!own) {
    parts.start(state);
    std::optional<train::EvalObserver> eval;
    if (parts.evaluator) parts.trainer->add(eval.emplace(parts, console, nullptr, job.facts.data.entropy_floor_nats, state));
    std::optional<train::CheckpointObserver> checkpoints;
    if (plan.zero_stage() > 0) parts.trainer->add(checkpoints.emplace(parts, nullptr, console, saved_step, threads, carried, state));
    train::AttestObserver attest(parts, console, job.allow_degraded);
    if (!plan.is_replica()) parts.trainer->add(attest);
    train::TuneObserver tune(parts, console);
    parts.trainer->add(tune);
    std::optional<train::ReleaseObserver> release;
    if (plan.recipe.memory.release_cache_every) parts.trainer->add(release.emplace(parts, console, state));
    return exit_code_of(parts.trainer->run());
  }

  const train::RunFolder& folder = own->folder;
  if (plan.compute == DType::f16 && !began_from.empty() && trained_in(began_from) == "bf16")
    console.warning(began_from + " was trained in bf16, whose values reach 3e38; in fp16 what goes beyond 65504 is infinite, and the run may skip steps or diverge: precision.compute: bf16 goes on as it was");
  for (const auto& difference : folder.differences(plan.recipe)) console.message("changed since the run began: " + difference);
  write_run_files(folder, plan, job);

  const std::string others = ranks.world_size() > 1 ? std::to_string(ranks.world_size()) + " ranks (" + recipe::write_value(plan.mode) + " over " + (plan.on_gpu ? "NCCL" : ranks.communicator()->transport()) + "), each on " : "";
  console.start("training " + std::string(spec::architecture_name(plan.dims)) + " on " + others + parts.device->name() + " into " + path, path, settings_of(plan, job),
                {plan.total_steps, plan.total_seconds, state.seconds});
  if (const offload::Disk* disk = parts.device->disk()) console.message(what_is_on_disk(plan) + " on the disk: " + disk->describe());
  if (!start.from.empty()) console.resume(state.step, start.from);
  metrics::MetricsLog log(path, state.step, plan.recipe.metrics.tensorboard);
  parts.start(state);
  train::MetricsObserver metrics(parts, console, log, state);
  parts.trainer->add(metrics);
  std::optional<train::EvalObserver> eval;
  if (parts.evaluator) parts.trainer->add(eval.emplace(parts, console, &log, job.facts.data.entropy_floor_nats, state));
  train::CheckpointObserver checkpoints(parts, &own->store, console, saved_step, threads, carried, state);
  parts.trainer->add(checkpoints);
  train::AttestObserver attest(parts, console, job.allow_degraded);
  parts.trainer->add(attest);
  train::TuneObserver tune(parts, console);
  parts.trainer->add(tune);
  std::optional<train::ReleaseObserver> release;
  if (plan.recipe.memory.release_cache_every) parts.trainer->add(release.emplace(parts, console, state));
  std::optional<train::ProfileObserver> profile;
  if (job.profile_steps > 0) parts.trainer->add(profile.emplace(parts, console, folder.file("profile.json"), job.profile_steps));
  Status status(folder, checkpoints, console);
  parts.trainer->add(status);
  try {
    const train::Request request = parts.trainer->run();
    const train::TrainState& end = parts.trainer->state();
    const int code = exit_code_of(request);
    if (code == 0) {
      status.write("done", "", 0, end.step, false);
      console.done(end.step, path, closing_words(job, plan.dims, folder, end, job.facts.data.entropy_floor_nats));
    } else {
      status.write("stopped", "a signal asked for it", code, end.step, true);
      console.message("stopped at step " + std::to_string(end.step) + " with a checkpoint; the same command goes on");
    }
    return code;
  } catch (const std::exception& e) {
    checkpoints.settle();               // what is on disk by then counts
    status.failed(e.what(), static_cast<int>(worker::exit_code_of(e)));
    throw;
  }
}

int train_among(const launch::Job& job, const plan::RunPlan& plan, std::shared_ptr<const data::Source> train_source, std::shared_ptr<const data::Source> eval_source, JoinedRanks& joined,
                metrics::Console& console) {
  const train::Ranks ranks = joined.ranks();
  const std::string path = job.fork_name.empty() ? job.run_folder : plan.recipe.run.output_dir + "/" + job.fork_name;
  const std::string fork_source = job.fork_name.empty() ? "" : job.run_folder;
  std::optional<OwnFolder> own;
  Beginning start;
  if (ranks.is_first()) {
    find_start(path, fork_source, plan.recipe, console);               // what cannot begin is told before a folder is made
    own.emplace(path);
    start = begin(*own, path, fork_source, plan, console);
  }
  start = beginning_from(ranks.from_first(to_text(start)));
  if (start.finished) return 0;
  train::SavedState saved;
  if (!start.from.empty() && start.with_states) saved = train::read_saved_state(start.from);
  train::TrainState& state = saved.state;

  const bool same_cut = start.own && saved.world_size == plan.batch.world_size;
  const std::int64_t threads = same_cut && plan.recipe.run.deterministic ? saved.threads : plan.threads;
  train::set_compute_threads(threads);

  train::TrainingParts parts(plan, std::move(train_source), std::move(eval_source), ranks);
  try {
    return run(job, plan, start, state, threads, path, own, parts, console);
  } catch (const std::exception& e) {
    if (plan.on_gpu && ranks.world_size() > 1) joined.end_at_once(e, console);
    throw;
  }
}

}  // namespace

int train(const launch::Job& job, metrics::Console& console) {
  const auto loaded = recipe::parse_recipe(job.resolved_recipe, "resolved recipe");
  const plan::RunPlan plan = plan_of(job, loaded.recipe);
  auto train_source = train::open_split(plan, data::Split::train);     // bad data is told before anything is written
  auto eval_source = train::open_split(plan, data::Split::eval);
  JoinedRanks joined(job, plan);
  try {
    const int code = train_among(job, plan, std::move(train_source), std::move(eval_source), joined, console);
    joined.leave();
    return code;
  } catch (const std::exception& e) {
    joined.leave_with(e);
    throw;
  }
}

}  // namespace trainx::worker
