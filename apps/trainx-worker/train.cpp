#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "metrics/run_files.hpp"
#include "train/observers.hpp"
#include "train/run_folder.hpp"
#include "train/threads.hpp"
#include <algorithm>
#include <csignal>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

namespace fs = std::filesystem;

// Where training begins: a checkpoint, or nothing.
struct Start {
  checkpoint::Found from;               // path empty: from the beginning
  bool with_states = true;
};

void tell_skipped(const std::vector<checkpoint::Skipped>& skipped, metrics::Console& console) {
  for (const auto& s : skipped) console.skipped_checkpoint(s.path, s.why);
}

// The run's own newest valid checkpoint, as checkpoint.resume says.
checkpoint::Found find_own(const train::RunFolder& folder, const checkpoint::Store& store, const recipe::Recipe& recipe, metrics::Console& console) {
  using recipe::Resume;
  std::vector<checkpoint::Skipped> skipped;
  const auto& resume = recipe.checkpoint.resume;
  const bool never = !resume.is_auto() && *resume.value == Resume::never, must = !resume.is_auto() && *resume.value == Resume::must;
  if (never && !store.list().empty())
    throw UserError(ExitCode::cannot_create, folder.path() + " already holds checkpoints and checkpoint.resume is never; give run.name another value or remove the folder");
  const checkpoint::Found found = store.newest_valid(&skipped);
  tell_skipped(skipped, console);
  if (must && found.path.empty()) throw UserError(ExitCode::no_checkpoint, folder.path() + " holds no valid checkpoint and checkpoint.resume is must; set it to auto to begin anew");
  return found;
}

// A fork begins from the newest valid checkpoint of the run that it branches off.
Start find_fork(const std::string& source_folder, const recipe::Recipe& recipe, metrics::Console& console) {
  std::vector<checkpoint::Skipped> skipped;
  Start start{checkpoint::Store(source_folder).newest_valid(&skipped)};
  tell_skipped(skipped, console);
  if (start.from.path.empty()) throw UserError(ExitCode::no_checkpoint, "--fork: " + source_folder + " holds no valid checkpoint to begin from");
  const std::string resolved = source_folder + "/resolved.yaml";
  const auto before = recipe::parse_recipe(read_file(resolved), resolved).recipe;
  auto states_of = [](const recipe::Recipe& r) {
    std::string names;
    for (const auto& s : std::visit([](const auto& o) { return spec::states(o); }, r.optimizer.options)) names += s.name + " ";
    return names;
  };
  start.with_states = states_of(before) == states_of(recipe);
  if (!start.with_states) console.warning("--fork: the optimizer keeps other states than the run's; they begin at zero");
  return start;
}

void write_run_files(const train::RunFolder& folder, const plan::RunPlan& plan, const launch::Job& job) {
  write_file_atomic(folder.file("recipe.yaml"), job.recipe_source);
  write_file_atomic(folder.file("resolved.yaml"), recipe::dump(plan.recipe));
  write_file_atomic(folder.file("plan.json"), plan::to_json(plan, true).dump(2) + "\n");
  metrics::write_run_info(folder.file("run.json"), {std::string(version), host_name(), {job.facts.hardware.cpu}, job.argv, utc_time()});
}

std::vector<metrics::Setting> settings_of(const plan::RunPlan& plan, const launch::Job& job) {
  std::vector<metrics::Setting> out;
  for (const auto& [key, value] : recipe::flatten(plan.recipe)) {
    const auto origin = job.origins.find(key);
    out.push_back({key, value, origin == job.origins.end() ? "planned" : origin->second});
  }
  return out;
}

std::string closing_words(const launch::Job& job, const train::RunFolder& folder, const train::TrainState& state, const std::optional<double>& floor) {
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
  return text + "next: trainx generate " + folder.path() + " --prompt " + (job.facts.data.entropy_floor_nats ? "\"Once\"" : "\"...\"") + "   or train on: the same command with a longer run.duration";
}

// status.json: running, with the last saved step, so that it tells the truth of a killed run too; and how the process ended.
class Status : public train::Observer {
 public:
  Status(const train::RunFolder& folder, const train::CheckpointObserver& checkpoints, metrics::Console& console)
      : path_(folder.file("status.json")), checkpoints_(checkpoints), console_(console) {
    write_running();
  }
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(train::TrainState&, const train::FinishedStep&, bool) override {
    if (checkpoints_.saved_step() != written_) write_running();
  }
  void on_end(train::TrainState&, train::Request) override {}
  /// A disk that is full ends no run and hides no other error: it is told.
  void write(const std::string& state, const std::string& reason, int code, std::int64_t step, bool resumable) const {
    try {
      metrics::write_status(path_, {state, reason, code, step, resumable});
    } catch (const UserError& e) {
      console_.warning(e.what());
    }
  }

 private:
  void write_running() {
    written_ = checkpoints_.saved_step();
    write("running", "", 0, written_, written_ > 0);
  }

  std::string path_;
  const train::CheckpointObserver& checkpoints_;
  metrics::Console& console_;
  std::int64_t written_ = 0;
};

int exit_code_of(train::Request request) {
  switch (request) {
    case train::Request::terminate: return 128 + SIGTERM;
    case train::Request::interrupt: return 128 + SIGINT;
    case train::Request::stop_and_rerun: return static_cast<int>(ExitCode::stopped_early);
    case train::Request::none: case train::Request::save_and_go_on: break;
  }
  return 0;
}

}  // namespace

int train(const launch::Job& job, metrics::Console& console) {
  const auto loaded = recipe::parse_recipe(job.resolved_recipe, "resolved recipe");
  const plan::RunPlan plan = plan_of(job, loaded.recipe);
  auto train_source = train::open_split(plan, data::Split::train);     // bad data is told before anything is written
  auto eval_source = train::open_split(plan, data::Split::eval);

  const std::string path = job.fork_name.empty() ? job.run_folder : plan.recipe.run.output_dir + "/" + job.fork_name;
  const train::RunFolder folder(path);
  folder.require_same_run(plan.recipe);
  checkpoint::Store store(path);
  Start start{find_own(folder, store, plan.recipe, console)};
  const bool own = !start.from.path.empty();
  if (!own && !job.fork_name.empty()) start = find_fork(job.run_folder, plan.recipe, console);
  if (own && plan.total_steps >= 0 && start.from.step >= plan.total_steps) {
    console.done(start.from.step, path, path + ": already done, " + std::to_string(start.from.step) + " steps; a longer run.duration goes on");
    return 0;
  }

  std::int64_t threads = job.facts.hardware.cpu_cores;
  if (own && plan.recipe.run.deterministic) threads = train::checkpoint_threads(start.from.path);
  train::set_compute_threads(threads);

  train::TrainingParts parts(plan, std::move(train_source), std::move(eval_source));
  train::TrainState state;
  parts.resident.initialize(static_cast<std::uint64_t>(plan.recipe.run.seed));
  if (!start.from.path.empty()) {
    state = train::load_checkpoint(start.from.path, parts.resident, start.with_states);
    if (!own) state.best_eval_loss = std::numeric_limits<double>::infinity();
  } else if (plan.recipe.model.init_from) {
    parts.resident.load_weights(*plan.recipe.model.init_from + "/model.safetensors");
  }
  for (const auto& difference : folder.differences(plan.recipe)) console.message("changed since the run began: " + difference);
  write_run_files(folder, plan, job);

  console.start("training " + std::string(spec::architecture_name(plan.dims)) + " on " + std::to_string(threads) + " CPU threads into " + path, path, settings_of(plan, job),
                {plan.total_steps, plan.total_seconds, state.seconds});
  if (!start.from.path.empty()) console.resume(state.step, start.from.path);
  metrics::MetricsFile log(folder.file("metrics.jsonl"), state.step);
  parts.start(state);
  train::MetricsObserver metrics(plan, console, log, state);
  parts.trainer->add(metrics);
  std::optional<train::EvalObserver> eval;
  if (parts.evaluator) parts.trainer->add(eval.emplace(parts, console, log, job.facts.data.entropy_floor_nats, state));
  train::CheckpointObserver checkpoints(parts, store, console, threads, state);
  parts.trainer->add(checkpoints);
  Status status(folder, checkpoints, console);
  parts.trainer->add(status);
  const auto failed = [&](const std::exception& e, ExitCode code) {
    status.write("failed", e.what(), static_cast<int>(code), checkpoints.saved_step(), checkpoints.saved_step() > 0);
  };
  try {
    const train::Request request = parts.trainer->run();
    const train::TrainState& end = parts.trainer->state();
    const int code = exit_code_of(request);
    if (code == 0) {
      status.write("done", "", 0, end.step, false);
      console.done(end.step, path, closing_words(job, folder, end, job.facts.data.entropy_floor_nats));
    } else {
      status.write("stopped", "a signal asked for it", code, end.step, true);
      console.message("stopped at step " + std::to_string(end.step) + " with a checkpoint; the same command goes on");
    }
    return code;
  } catch (const UserError& e) {
    failed(e, e.code());
    throw;
  } catch (const std::exception& e) {
    failed(e, ExitCode::bug);
    throw;
  }
}

}  // namespace trainx::worker
