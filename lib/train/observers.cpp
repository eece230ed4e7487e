#include "train/observers.hpp"
#include "core/error.hpp"
#include "tensor/allocator_meter.hpp"
#include "train/callbacks.hpp"
#include "train/eval_metrics.hpp"
#include "train/expert_load.hpp"
#include "train/fp8_shares.hpp"
#include "train/public_reports.hpp"
#include "architectures/active_parameters.hpp"
#include "architectures/own_parts.hpp"
#include "recipe/value.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::train {
namespace {

double value_of(const EvalResult& result, recipe::BestMetric metric) {
  if (metric == recipe::BestMetric::loss) return result.loss;
  const auto found = result.metrics.find(recipe::write_value(metric));
  if (found != result.metrics.end()) return found->second;
  throw InternalError("an evaluation has no " + recipe::write_value(metric));
}

}  // namespace

double epochs_of(const plan::RunPlan& plan, const TrainState& state) {
  const auto samples = static_cast<double>(state.step) *
                       static_cast<double>(plan.batch.global_batch_size);
  return plan.train_samples > 0 ? samples / static_cast<double>(plan.train_samples) : 0;
}

void MetricsObserver::on_step_end(TrainState& state, const FinishedStep& step, bool) {
  metrics::StepReport r;
  const plan::RunPlan& plan = parts_.plan;
  state.unlogged_loss_sum += step.loss_sum;
  state.unlogged_targets += step.targets;
  r.step = state.step;
  r.loss = state.unlogged_loss_sum / std::max(state.unlogged_targets, 1.0);
  r.step_loss = step.loss;
  state.unlogged_metrics.resize(step.metrics.size());
  for (std::size_t k = 0; k < step.metrics.size(); ++k)
    state.unlogged_metrics[k] += step.metrics[k];
  if (!step.metrics.empty())
    r.metrics = own_metrics(architectures::own_metrics(plan.dims), state.unlogged_metrics);
  r.experts = expert_load(step.expert_loads, architectures::experts_of(plan.dims));
  r.fp8 = fp8_shares(step.fp8_counts, plan.recipe.precision.scaling == recipe::Scaling::delayed);
  r.grad_norm = step.grad_norm;
  r.lr = step.lr;
  r.epoch = epochs_of(plan, state);
  r.unix_time_s = metrics::unix_time_s();
  r.tokens_seen = state.tokens_seen;
  r.step_time_ms = step.step_time_s * 1e3;
  r.tokens_per_second = static_cast<double>(step.tokens) / step.step_time_s;
  r.data_wait_ms = step.data_wait_s * 1e3;
  r.peak_memory_bytes = parts_.device->peak_bytes();
  r.applied_steps = state.applied_steps;
  if (plan.compute == DType::f16) r.loss_scale = step.loss_scale;
  const bool logged = every_.due(state) || state.step == 1 || state.step == plan.total_steps;
  if (logged) {
    every_.acted(state);
    state.unlogged_loss_sum = state.unlogged_targets = 0;
    state.unlogged_metrics.clear();
    add_device(state, r);
    file_.append(metrics::to_json(r));
    if (file_.problem() != told_problem_) {
      told_problem_ = file_.problem();
      if (!told_problem_.empty())
        console_.warning(told_problem_ + "; lines are kept and tried again");
    }
  }
  console_.step(r, logged);
}

// What the driver is asked for: it takes its time to answer.
void MetricsObserver::add_device(const TrainState& state, metrics::StepReport& r) {
  r.device_memory_bytes = parts_.device->process_bytes();
  const PowerReading now = parts_.device->power();
  const double seconds = state.seconds - last_seconds_;
  const auto tokens = static_cast<double>(state.tokens_seen - last_tokens_);
  const std::int64_t ranks = parts_.plan.mesh.world;
  if (parts_.plan.peak_flops > 0)
    r.mfu = tokens / seconds * parts_.plan.flops_per_token() / parts_.plan.peak_flops /
            static_cast<double>(ranks);
  // those of other ranks' devices are not known here
  if (ranks == 1 && now.joules && last_.joules)
    r.joules_per_token = (*now.joules - *last_.joules) / tokens;
  if (now.capped_seconds && last_.capped_seconds)
    r.power_capped = std::min(1.0, (*now.capped_seconds - *last_.capped_seconds) / seconds);
  r.clock_mhz = now.clock_mhz;
  r.clock_reason = now.clock_reason();
  r.clock_held_down = metrics::is_held_down(now);
  r.watts = now.watts;
  r.gpu_utilization = now.utilization;
  r.memory_utilization = now.memory_utilization;
  r.temperature_celsius = now.temperature_celsius;
  r.device_used_bytes = now.used_bytes;
  r.device_total_bytes = now.total_bytes;
  for (const std::string& sentence : clock_watch_.news(now))
    console_.warning("step " + std::to_string(state.step) + ": " + sentence);
  last_ = now;
  last_tokens_ = state.tokens_seen;
  last_seconds_ = state.seconds;
}

EvalObserver::EvalObserver(TrainingParts& parts, metrics::Console& console,
                           metrics::MetricsLog* file, std::optional<double> entropy_floor,
                           const TrainState& state)
    : parts_(parts),
      console_(console),
      file_(file),
      entropy_floor_(entropy_floor),
      every_(parts.plan.eval_every, state) {}

bool EvalObserver::needs_rest_after(std::int64_t step) const { return every_.due_at(step); }

void EvalObserver::on_step_end(TrainState& state, const FinishedStep&, bool at_rest) {
  const bool due = every_.due_at(state.step) || state.step == parts_.plan.total_steps;
  if (at_rest && due && !stale_) evaluate(state);
  every_.watch(state);
}

void EvalObserver::on_end(TrainState& state, execute::Request request) {
  if (request == execute::Request::none && evaluated_ != state.step && !stale_) evaluate(state);
}

void EvalObserver::keep_best(TrainState& state, double value) const {
  const bool higher = recipe::prefers_higher(parts_.plan.recipe.eval.best);
  if (!std::isfinite(value) ||
      (state.best_value && (higher ? value <= *state.best_value : value >= *state.best_value)))
    return;
  state.best_value = value;
  state.best_step = state.step;
}

void EvalObserver::count_stale(TrainState& state, double value) {
  const auto& stopping = parts_.plan.recipe.eval.early_stopping;
  if (!stopping.patience) return;
  const double sign = recipe::prefers_higher(parts_.plan.recipe.eval.best) ? 1 : -1;
  const double gain = state.stop_value ? sign * (value - *state.stop_value)
                                       : std::numeric_limits<double>::infinity();
  if (std::isfinite(value) && gain > stopping.min_delta) {
    state.stop_value = value;
    state.stale_evaluations = 0;
  } else {
    ++state.stale_evaluations;
  }
  stale_ = state.stale_evaluations >= *stopping.patience;
}

const EvalResult& EvalObserver::evaluate_now(TrainState& state) {
  if (evaluated_ != state.step) evaluate(state);
  return last_;
}

void EvalObserver::evaluate(TrainState& state) {
  // ranks that do not evaluate wait meanwhile; where all do, evaluation's own sums show that they
  // move
  std::optional<execute::Ranks::Busy> alone;
  if (!parts_.plan.program_set.all(&plan::Duties::evaluates))
    alone.emplace(parts_.ranks, "evaluating");
  last_ = parts_.evaluator->run(parts_.plan.eval_samples);
  const EvalResult& result = last_;
  every_.acted(state);
  evaluated_ = state.step;
  state.held_out_finite = finite_ = std::isfinite(result.loss);
  if (!finite_) return;  // the run saves what it has and ends
  const plan::RunPlan& plan = parts_.plan;
  const double value = value_of(result, plan.recipe.eval.best.metric);
  keep_best(state, value);
  count_stale(state, value);
  const std::int64_t batch = plan.batch.global_batch_size;
  const auto batches = [&](std::int64_t samples) { return (samples + batch - 1) / batch; };
  const metrics::EvalReport report{state.step,
                                   result.loss,
                                   result.targets,
                                   result.metrics,
                                   entropy_floor_,
                                   batches(result.samples),
                                   batches(result.all_samples),
                                   epochs_of(plan, state),
                                   metrics::unix_time_s()};
  if (file_) file_->append(metrics::to_json(report));
  console_.eval(report);
  call_evaluation_callbacks(evaluation_report(state.step, result));
}

}  // namespace trainx::train
