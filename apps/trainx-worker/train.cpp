#include "beginning.hpp"
#include "carried_files.hpp"
#include "closing_words.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/refusals.hpp"
#include "data/target_check.hpp"
#include "data_files.hpp"
#include "core/process.hpp"
#include "end_of_text.hpp"
#include "joined_ranks.hpp"
#include "log/crash_ring.hpp"
#include "log/log.hpp"
#include "metrics/run_files.hpp"
#include "sample_observer.hpp"
#include "start.hpp"
#include "start_rows.hpp"
#include "status.hpp"
#include "trained_in.hpp"
#include "train/attest_observer.hpp"
#include "train/callback_observer.hpp"
#include "plan/explain/products.hpp"
#include "train/fp8_fallback_observer.hpp"
#include "train/health_observer.hpp"
#include "train/learning_rates.hpp"
#include "train/loop_observer.hpp"
#include "train/memory_error_observer.hpp"
#include "train/observers.hpp"
#include "train/profile_observer.hpp"
#include "train/release_observer.hpp"
#include "train/tune_observer.hpp"
#include "train/run_folder.hpp"
#include "execute/shared_cores.hpp"
#include "recipe/resolved.hpp"
#include "state/load_shared.hpp"
#include "recipe/value.hpp"
#include "execute/threads.hpp"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

void write_run_files(train::RunFolder& folder, const plan::RunPlan& plan, const launch::Job& job) {
  folder.write("recipe.yaml", job.recipe_source);
  folder.write("resolved.yaml", recipe::resolved_text(plan.recipe));
  folder.write("plan.json", plan::to_json(plan, true).dump(2) + "\n");
  metrics::RunInfo info{.build = job.build,
                        .host = host_name(),
                        .devices = job.facts.hardware.gpu_names(),
                        .argv = job.argv,
                        .directory = job.directory,
                        .started = utc_time(),
                        .overwrite = job.overwrite,
                        .origins = job.origins};
  if (!plan.on_gpu) info.devices = {job.facts.hardware.cpu};
  folder.write("run.json", metrics::run_info_json(info));
}

/// Of a run whose folder somebody removed or renamed.
void make_again(train::RunFolder& folder, metrics::MetricsLog& log, metrics::Console& console) {
  folder.make_again();
  log.put_back_if_gone();
  console.warning(folder.path() +
                  " was removed or renamed while the run wrote to it; it is made again, with the "
                  "whole curve, and checkpoints from here on");
}

int exit_code_of(execute::Request request) {
  switch (request) {
    case execute::Request::terminate: return 128 + SIGTERM;
    case execute::Request::hang_up: return 128 + SIGHUP;
    case execute::Request::interrupt: return 128 + SIGINT;
    case execute::Request::stop_and_rerun: return static_cast<int>(ExitCode::stopped_early);
    case execute::Request::none:
    case execute::Request::new_programs:
    case execute::Request::save_and_go_on: break;
  }
  return 0;
}

/// Nothing: the process goes on.
std::optional<int> code_of(execute::Request request) {
  if (request == execute::Request::new_programs) return std::nullopt;
  return exit_code_of(request);
}

void tell_rate_change(const train::RateChange& change, const plan::RunPlan& plan,
                      metrics::Console& console) {
  const bool restart = plan.recipe.schedule.resume == recipe::ScheduleResume::restart;
  char rates[128];
  std::snprintf(rates, sizeof rates,
                "step %lld trained with learning rate %.3g, step %lld trains with %.3g",
                static_cast<long long>(change.step), change.last,
                static_cast<long long>(change.step + 1), change.next);
  console.warning(
      "run.duration changed: " + std::string(rates) +
      (restart
           ? ", because the schedule restarts (schedule.resume: restart)"
           : ", as if the run had had this duration from its first step; schedule.resume: restart "
             "begins a new schedule here"));
}

std::string own_rate_words(double lr) {
  char text[128];
  std::snprintf(text, sizeof text,
                "learning rate %.3g, set by the run's own loop, holds until it sets another", lr);
  return text;
}

std::string what_is_on_disk(const plan::RunPlan& plan) {
  const auto& memory = plan.recipe.memory;
  if (memory.parameter_offload != recipe::ParameterOffload::disk) return "the optimizer";
  return recipe::uses_disk(memory.optimizer_offload.where) ? "weights and the optimizer"
                                                           : "weights";
}

/// The rank's log file, in a folder that is there by now. A run without one trains as well.
void open_log(const std::string& run_folder, const launch::Job& job) {
  const std::string stem = run_folder + "/logs/rank-" + std::to_string(job.membership.rank);
  try {
    if (std::filesystem::is_directory(run_folder)) make_folders(run_folder + "/logs");
  } catch (const UserError&) { return; }
  log::set_crash_file(stem + ".crash.log");
  const bool debug = job.output.verbose || log::level_from_environment() == log::Level::debug;
  log::open_file(stem + ".log", debug ? log::Level::debug : log::Level::info);
}

/// A loop of the user's own cannot be told of a step that another program makes: its products stay.
bool may_fall_back(const plan::RunPlan& plan, const train::LoopChannel* loop) {
  return plan.recipe.precision.products == recipe::Products::fp8 && !loop;
}

/// All but finding the beginning: loads, trains, saves. Returns an exit code; nothing where the run
/// goes on from its newest checkpoint with other programs. `again`: this is such a run.
std::optional<int> run(const launch::Job& job, const plan::RunPlan& plan, const Beginning& start,
                       train::TrainState& state, std::int64_t threads, const std::string& path,
                       std::optional<OwnFolder>& own, const std::vector<data::DataFile>& files,
                       train::TrainingParts& parts, metrics::Console& console,
                       train::LoopChannel* loop, bool again) {
  const execute::Ranks& ranks = parts.ranks;
  const std::string began_from = !start.from.empty() ? start.from
                                                     : plan.recipe.model.init_from.value_or("");
  auto carried =
      with_end_of_text(carried_files(began_from, plan, ranks.is_first() ? &console : nullptr),
                       plan.recipe.data.source, plan.dims);
  if (!files.empty()) carried[data_files_name] = data_files_text(files);
  {
    const execute::Ranks::Busy busy(ranks, "loading weights");
    if (parts.role.keeps_weights)
      state::load_shared(*parts.device, parts.resident, ranks, [&](bool second) {
        load(parts, start, state, second ? nullptr : &console);
      });
  }
  log::debug(start.from.empty() ? "weights are drawn from run.seed"
                                : "weights and states come from " + start.from);
  ranks.require_equal(
      plan.shares_batches() && ranks.world_size() > 1 ? parts.resident.weights_hash() : "",
      "weights");
  const std::optional<std::int64_t> saved_step = start.own ? std::optional(state.step)
                                                           : std::nullopt;
  log::set_step(state.step);
  std::optional<train::Fp8FallbackObserver> fallback;
  if (!own) {
    if (!again) open_log(path, job);
    parts.start(state);
    if (may_fall_back(plan, loop))
      parts.trainer->add(fallback.emplace(parts, console, nullptr, job.allow_degraded));
    train::CallbackObserver callbacks(plan);
    if (parts.role.has_loss) parts.trainer->add(callbacks);
    std::optional<train::EvalObserver> eval;
    if (parts.evaluator)
      parts.trainer->add(
          eval.emplace(parts, console, nullptr, job.facts.data.entropy_floor_nats, state));
    std::optional<train::CheckpointObserver> checkpoints;
    if (plan.in_parts())
      parts.trainer->add(
          checkpoints.emplace(parts, nullptr, console, saved_step, threads, carried, state));
    train::AttestObserver attest(parts, console, job.allow_degraded);
    if (parts.role.keeps_weights) parts.trainer->add(attest);
    train::TuneObserver tune(parts, console);
    parts.trainer->add(tune);
    train::MemoryErrorObserver memory_errors(parts, console, nullptr);
    parts.trainer->add(memory_errors);
    std::optional<train::ReleaseObserver> release;
    if (plan.recipe.memory.release_cache_every)
      parts.trainer->add(release.emplace(parts, console, state));
    std::optional<train::LoopObserver> own_loop;
    if (loop)
      parts.trainer->add(own_loop.emplace(parts, *loop, eval ? &*eval : nullptr,
                                          checkpoints ? &*checkpoints : nullptr));
    return code_of(parts.trainer->run());
  }

  train::RunFolder& folder = own->folder;
  if (plan.compute == DType::f16 && !began_from.empty() && trained_in(began_from) == "bf16")
    console.warning(began_from +
                    " was trained in bf16, whose values reach 3e38; in fp16 what goes beyond 65504 "
                    "is infinite, and the run may skip steps or diverge: precision.compute: bf16 "
                    "goes on as it was");
  for (const auto& difference : folder.differences(plan.recipe))
    console.message("changed since the run began: " + difference);
  write_run_files(folder, plan, job);
  if (!again) open_log(path, job);

  const std::string others = ranks.world_size() > 1
                                 ? std::to_string(ranks.world_size()) + " ranks (" +
                                       recipe::write_value(plan.mode) + " over " +
                                       (plan.on_gpu ? "NCCL" : ranks.communicator()->transport()) +
                                       "), each on "
                                 : "";
  auto rows = start_rows(plan, job);
  rows.insert(rows.begin(), {"device", others + parts.device->name()});
  if (again)
    console.message("the program is planned anew: products are " + plan::describe_products(plan));
  else
    console.start(
        "training " + std::string(architectures::architecture_name(plan.dims)) + " into " + path,
        path, rows, settings_of(plan, job),
        {plan.total_steps, plan.total_seconds, state.seconds, plan.memory.total_bytes()});
  if (const disk::Disk* disk = parts.device->disk())
    console.message(what_is_on_disk(plan) + " on the disk: " + disk->describe());
  if (!start.from.empty()) console.resume(state.step, start.from);
  if (state.own_lr) console.message(own_rate_words(*state.own_lr));
  metrics::MetricsLog log(path, state.step, plan.recipe.metrics.tensorboard);
  if (start.own && !log.holes().empty()) console.warning(log.holes());
  parts.start(state);
  train::HealthObserver health(parts, console);
  parts.trainer->add(health);
  train::MetricsObserver metrics(parts, console, log, state);
  parts.trainer->add(metrics);
  if (may_fall_back(plan, loop))
    parts.trainer->add(fallback.emplace(parts, console, &log, job.allow_degraded));
  train::CallbackObserver callbacks(plan);
  parts.trainer->add(callbacks);
  std::optional<train::EvalObserver> eval;
  if (parts.evaluator)
    parts.trainer->add(
        eval.emplace(parts, console, &log, job.facts.data.entropy_floor_nats, state));
  train::CheckpointObserver checkpoints(parts, &own->store, console, saved_step, threads, carried,
                                        state);
  checkpoints.set_before_save([&] {
    if (!folder.is_there()) make_again(folder, log, console);
    log.sync();
  });
  std::optional<SampleObserver> samples;  // before the checkpoint of the same step begins
  if (plan.recipe.generate.every)
    parts.trainer->add(samples.emplace(parts, checkpoints, console, path,
                                       tokenizer_beside(began_from, plan), state));
  parts.trainer->add(checkpoints);
  train::AttestObserver attest(parts, console, job.allow_degraded);
  parts.trainer->add(attest);
  train::TuneObserver tune(parts, console);
  parts.trainer->add(tune);
  train::MemoryErrorObserver memory_errors(parts, console, &folder);
  parts.trainer->add(memory_errors);
  std::optional<train::ReleaseObserver> release;
  if (plan.recipe.memory.release_cache_every)
    parts.trainer->add(release.emplace(parts, console, state));
  std::optional<train::ProfileObserver> profile;
  if (job.profile_steps > 0 && !again)
    parts.trainer->add(
        profile.emplace(parts, console, folder.file("profile.json"), job.profile_steps));
  Status status(folder, plan, checkpoints, console, state);
  parts.trainer->add(status);
  std::optional<train::LoopObserver> own_loop;
  if (loop)
    parts.trainer->add(own_loop.emplace(parts, *loop, eval ? &*eval : nullptr, &checkpoints));
  try {
    const execute::Request request = parts.trainer->run();
    const train::TrainState& end = parts.trainer->state();
    if (!code_of(request)) return std::nullopt;
    const int code = exit_code_of(request);
    if (code == 0 && !own_loop && health.learned_nothing(end))
      throw UserError(ExitCode::bad_data,
                      "no step of the run had a target, so that nothing was learned: give samples "
                      "labels other than -100");
    if (own_loop && own_loop->closed_early()) {
      status.write("stopped", "its own loop closed it", 0);
      console.stopped("its own loop closed the run at step " + std::to_string(end.step) +
                      ", with a checkpoint; the same program resumes it");
    } else if (code == 0) {
      status.write("done", early_words(plan, end), 0);
      console.done(end.step, path,
                   closing_words(job, plan, folder, end, job.facts.data.entropy_floor_nats));
    } else {
      status.write("stopped", "a signal asked for it", code);
      console.stopped("stopped at step " + std::to_string(end.step) +
                      " with a checkpoint; the same command resumes the run");
    }
    return code;
  } catch (const std::exception& e) {
    checkpoints.settle();  // what is on disk by then counts
    memory_errors.look();
    status.failed(sentence_of(e), static_cast<int>(worker::cause_of(e)));
    throw;
  }
}

/// The launcher's plan, and behind it those of the same run with other programs: they outlive all
/// that tells of their instructions.
using Plans = std::deque<plan::RunPlan>;

/// From the newest checkpoint to the run's end, or to where it goes on with other programs (run).
std::optional<int> train_part(const launch::Job& job, Plans& plans,
                              std::shared_ptr<const data::Source> train_source,
                              std::shared_ptr<const data::Source> eval_source, JoinedRanks& joined,
                              metrics::Console& console, train::LoopChannel* loop, bool again) {
  const plan::RunPlan& base = plans.front();
  const execute::Ranks ranks = joined.ranks();
  const std::string path = job.fork_name.empty() ? job.run_folder
                                                 : base.recipe.run.output_dir + "/" + job.fork_name;
  const std::string fork_source = job.fork_name.empty() ? "" : job.run_folder;
  const std::vector<data::DataFile> files = train_source->files();
  std::optional<OwnFolder> own;
  Beginning start;
  if (ranks.is_first()) {
    // what cannot begin is told before a folder is made
    if (job.overwrite.empty()) find_start(path, fork_source, base.recipe, console);
    own.emplace(path);
    if (overwrites(job, own->folder)) {
      require_outside(base.recipe, path);
      if (!fork_source.empty() && checkpoint::Store(fork_source).list().empty())
        throw UserError(
            ExitCode::no_checkpoint,
            "--fork: " + fork_source + " holds no checkpoint to begin from; nothing was removed");
      own->folder.clear();
      log::info("--overwrite: removed what an earlier run left in " + path);
    }
    start = begin(*own, path, fork_source, base, files, console);
  }
  start = beginning_from(ranks.from_first(to_text(start)));
  if (start.finished) return 0;
  train::SavedState saved;
  if (!start.from.empty() && start.with_states) saved = read_state(start.from, base);
  train::TrainState& state = saved.state;
  if (base.recipe.precision.products != recipe::Products::fp8)
    state.fp8_fallback.clear(), state.fp8_saturation.clear();
  if (!state.fp8_fallback.empty())
    plans.push_back(plan::with_fallback(base, job.facts,
                                        {state.fp8_fallback.begin(), state.fp8_fallback.end()}));
  const plan::RunPlan& plan = plans.back();
  if (!start.own) state.own_lr.reset();  // a fork's is the recipe's
  if (const auto change = train::resume_schedule(plan, state); change && ranks.is_first())
    tell_rate_change(*change, plan, console);

  const bool same_cut = start.own && saved.world_size == plan.mesh.world;
  const std::int64_t threads = same_cut && plan.recipe.run.deterministic ? saved.threads
                                                                         : plan.threads;
  execute::set_compute_threads(threads);
  const execute::SharedCores shared_cores(plan.on_gpu ? 1 : threads);

  train::TrainingParts parts(plan, std::move(train_source), std::move(eval_source), ranks);
  try {
    return run(job, plan, start, state, threads, path, own, files, parts, console, loop, again);
  } catch (const std::exception& e) {
    // the teardown of a GPU that is lost, or that others wait for, may never end
    if (plan.on_gpu && (ranks.world_size() > 1 || parts.device->is_lost()))
      joined.end_at_once(e, console);
    throw;
  }
}

int train_among(const launch::Job& job, Plans& plans,
                const std::shared_ptr<const data::Source>& train_source,
                const std::shared_ptr<const data::Source>& eval_source, JoinedRanks& joined,
                metrics::Console& console, train::LoopChannel* loop) {
  std::optional<int> code;
  for (bool again = false; !code; again = true)
    code = train_part(job, plans, train_source, eval_source, joined, console, loop, again);
  return *code;
}

/// What is to be told of both splits. Throws UserError 65 for one without a target.
std::vector<std::string> look_at_targets(const data::Source* train, const data::Source* eval) {
  std::vector<std::string> sentences;
  Refusals refusals;
  const auto look = [&](const data::Source* source, data::Split split) {
    if (!source) return;
    for (std::string& sentence : data::check_targets(*source, split))
      sentences.push_back(std::move(sentence));
  };
  refusals.collect([&] { look(train, data::Split::train); });
  refusals.collect([&] { look(eval, data::Split::eval); });
  refusals.throw_all();
  return sentences;
}

}  // namespace

int train(const launch::Job& job, metrics::Console& console, train::LoopChannel* loop) {
  const auto loaded = recipe::parse_recipe(job.resolved_recipe, "resolved recipe");
  Plans plans;
  plans.push_back(plan_of(job, loaded.recipe));
  const plan::RunPlan& plan = plans.front();
  // bad data is told before anything is written
  const auto train_source = train::open_split(plan, data::Split::train);
  const auto eval_source = train::open_split(plan, data::Split::eval);
  const auto findings = look_at_targets(train_source.get(), eval_source.get());
  JoinedRanks joined(job, plan);
  try {
    if (joined.ranks().is_first())
      for (const std::string& finding : findings) console.warning(finding);
    const int code = train_among(job, plans, train_source, eval_source, joined, console, loop);
    joined.leave();
    return code;
  } catch (const std::exception& e) {
    joined.leave_with(e);
    throw;
  }
}

}  // namespace trainx::worker
