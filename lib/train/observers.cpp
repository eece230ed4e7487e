#include "train/observers.hpp"
#include "core/error.hpp"
#include "core/process_memory.hpp"
#include "tensor/allocator_meter.hpp"
#include <nlohmann/json.hpp>
#include <cmath>

namespace trainx::train {

void MetricsObserver::on_step_end(TrainState& state, const FinishedStep& step, bool) {
  metrics::StepReport r;
  r.step = state.step;
  r.loss = step.loss;
  r.grad_norm = step.grad_norm;
  r.lr = step.lr;
  r.tokens_seen = state.tokens_seen;
  r.step_time_ms = step.step_time_s * 1e3;
  r.tokens_per_second = static_cast<double>(step.tokens) / step.step_time_s;
  r.data_wait_ms = step.data_wait_s * 1e3;
  r.peak_memory_bytes = plan_.memory.arena_bytes + tensor::allocator_bytes().peak;
  r.device_memory_bytes = resident_bytes();
  r.applied_steps = state.applied_steps;
  const bool logged = every_.due(state) || state.step == 1 || state.step == plan_.total_steps;
  if (logged) {
    every_.acted(state);
    file_.append(metrics::to_json(r));
  }
  console_.step(r, logged);
}

EvalObserver::EvalObserver(TrainingParts& parts, metrics::Console& console, metrics::MetricsFile& file, std::optional<double> entropy_floor, const TrainState& state)
    : parts_(parts), console_(console), file_(file), entropy_floor_(entropy_floor), every_(parts.plan.eval_every, state) {}

bool EvalObserver::needs_rest_after(std::int64_t step) const { return every_.due_at(step) || waiting_; }

void EvalObserver::on_step_end(TrainState& state, const FinishedStep&, bool at_rest) {
  waiting_ = every_.waiting(state);
  if (at_rest && every_.due(state)) evaluate(state);
}

void EvalObserver::on_end(TrainState& state, Request request) {
  if (request == Request::none && evaluated_ != state.step) evaluate(state);
}

void EvalObserver::evaluate(TrainState& state) {
  const EvalResult result = parts_.evaluator->run(parts_.plan.eval_batches);
  every_.acted(state);
  waiting_ = false;
  evaluated_ = state.step;
  if (result.loss < state.best_eval_loss) {
    state.best_eval_loss = result.loss;
    state.best_step = state.step;
  }
  const metrics::EvalReport report{state.step, result.loss, std::exp(result.loss), result.targets, entropy_floor_};
  file_.append(metrics::to_json(report));
  console_.eval(report);
}

CheckpointObserver::CheckpointObserver(TrainingParts& parts, checkpoint::Store& store, metrics::Console& console, std::int64_t threads, const TrainState& state)
    : parts_(parts), store_(store), console_(console), threads_(threads), every_(parts.plan.checkpoint_every, state), saved_(state.step) {}

bool CheckpointObserver::needs_rest_after(std::int64_t step) const { return every_.due_at(step) || waiting_; }

void CheckpointObserver::on_step_end(TrainState& state, const FinishedStep&, bool at_rest) {
  waiting_ = waiting_ || every_.waiting(state);
  const bool best = state.best_step == state.step;      // evaluated just before, lower than ever: `best` has to be on disk
  if (!at_rest || !(waiting_ || best || every_.due(state))) return;
  try {
    save(state);
  } catch (const UserError& e) {
    if (e.code() != ExitCode::io_error) throw;
    console_.warning(std::string(e.what()) + "; the run goes on, checkpoint-" + std::to_string(saved_) + " stays the newest");
  }
  waiting_ = false;
  every_.acted(state);
}

void CheckpointObserver::on_end(TrainState& state, Request) {
  if (saved_ != state.step) save(state);
}

void CheckpointObserver::save(TrainState& state) {
  if (saved_ == state.step) return;
  const std::string path = store_.save(state.step, checkpoint_contents(parts_.plan, parts_.resident, state, threads_), parts_.plan.recipe.checkpoint.keep_last, state.best_step == state.step);
  saved_ = state.step;
  console_.checkpoint(state.step, path);
}

}  // namespace trainx::train
