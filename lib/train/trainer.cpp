#include "train/trainer.hpp"
#include "architectures/active_parameters.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include "core/error.hpp"
#include "log/log.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::train {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

constexpr int non_finite_limit = 20;  // steps in a row

// What the device does as well: so the state to save is known without asking it.
// As the step did it on the device: what is saved.
void advance_fp8_ranges(TrainState& state, const std::vector<double>& counts) {
  const std::size_t tensors = counts.size() / (kernels::fp8_counts + kernels::fp8_exponents);
  state.fp8_ranges.resize(tensors * kernels::fp8_range_state);
  kernels::advance_fp8_ranges(state.fp8_ranges.data(), counts.data(),
                              static_cast<std::int64_t>(tensors));
}

void advance_loss_scale(TrainState& state, bool finite,
                        const kernels::LossScaleSettings& settings) {
  double pair[2] = {state.loss_scale, state.finite_steps};
  kernels::advance_loss_scale(pair, finite, settings);
  state.loss_scale = pair[0];
  state.finite_steps = pair[1];
}

/// A GPU does not know while it computes that a slot of experts is too small.
void require_room(const plan::RunPlan& plan, const std::vector<double>& expert_loads) {
  if (plan.mesh.experts == 1 ||
      plan.recipe.parallel.experts_overflow == recipe::ExpertsOverflow::drop)
    return;
  const auto experts = static_cast<std::size_t>(architectures::experts_of(plan.dims));
  double without = 0;
  for (std::size_t k = experts; k < expert_loads.size(); k += experts + 1)
    without += expert_loads[k];
  if (without > 0)
    throw UserError(ExitCode::out_of_memory,
                    "a step has " + std::to_string(static_cast<std::int64_t>(without)) +
                        " choices of experts that found no room on their rank; write a larger "
                        "parallel.experts_capacity, 0 for any choice, or "
                        "parallel.experts_overflow: drop");
}

}  // namespace

std::string not_finite_held_out(std::int64_t step) {
  return "the held-out loss after step " + std::to_string(step) + " is not finite";
}

std::string divergence_of(const TrainState& state) {
  if (state.step == 0) return "";
  const std::string remedy = "; lower optimizer.lr, or look at the data (`trainx data inspect`)";
  if (state.applied_steps == 0)
    return "none of " + std::to_string(state.step) +
           " steps was applied: loss or gradient was never finite, and the weights are those that "
           "the run began with" +
           remedy;
  if (!state.last_loss_finite)
    return "the run ended at step " + std::to_string(state.step) +
           " with a loss that is not finite" + remedy;
  if (!state.held_out_finite) return not_finite_held_out(state.step) + remedy;
  return "";
}

Trainer::Trainer(const plan::RunPlan& plan, execute::Executor& executor, data::Loader& loader,
                 TrainState state, execute::Ranks ranks)
    : plan_(plan),
      executor_(executor),
      loader_(loader),
      state_(state),
      submitted_(state.step),
      first_step_(state.step),
      end_step_(plan.total_steps),
      ranks_(ranks) {}

void Trainer::on_report(const execute::StepScalarsReport& report) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(report);
}

execute::Request Trainer::run() {
  last_ = last_wall_ = Clock::now();
  execute::Request stop = execute::Request::none;
  if (plan_.total_steps < 0 && state_.seconds >= plan_.total_seconds) end_step_ = state_.step;
  if (!is_last(state_.step)) {
    for (Observer* observer : observers_) observer->on_begin(state_);
    end_if_wanted(true);
    last_ = Clock::now();
  }
  while (!is_last(state_.step)) {
    while (submitted_ < state_.step + steps_ahead && !rest_needed_after(submitted_) &&
           !is_last(submitted_)) {
      executor_.submit_step();  // the host waits for nothing inside a step
      ++submitted_;
    }
    const FinishedStep step = take_finished();
    const bool at_rest = submitted_ == state_.step;
    require_whole(step);
    if (request_ == execute::Request::save_and_go_on)
      for (Observer* observer : observers_) observer->on_save_request(state_);
    for (Observer* observer : observers_) observer->on_step_end(state_, step, at_rest);
    if (at_rest) last_ = Clock::now();
    require_converging(step);
    if (request_ > execute::Request::save_and_go_on && stop == execute::Request::none) end_soon();
    if (request_ > execute::Request::save_and_go_on) stop = std::max(stop, request_);
    if (plan_.total_steps < 0 && end_step_ < 0 && state_.seconds >= plan_.total_seconds) end_soon();
    end_if_wanted(at_rest);
    if (at_rest && !ended_early_ && !is_last(state_.step) && any_wants_programs()) {
      stop = std::max(stop, execute::Request::new_programs);
      end_step_ = state_.step;
    }
  }
  const bool finished = ended_early_ ||
                        (plan_.total_steps >= 0 ? state_.step >= plan_.total_steps
                                                : state_.seconds >= plan_.total_seconds);
  if (finished) stop = execute::Request::none;
  for (Observer* observer : observers_) observer->before_end(state_, stop);
  for (Observer* observer : observers_) observer->on_end(state_, stop);
  if (const std::string why = finished ? divergence_of(state_) : ""; !why.empty())
    throw UserError(ExitCode::diverged, why);
  return stop;
}

void Trainer::end_if_wanted(bool at_rest) {
  if (ended_early_) return;
  // What wants the end is an evaluation: all ranks know its result at once, unless some do not
  // evaluate and begin their next steps meanwhile.
  const bool known_by_all = plan_.program_set.all(&plan::Duties::evaluates) && at_rest;
  if ((known_by_all && any_wants_end()) || (at_rest && any_ends_here())) {
    ended_early_ = true;
    end_step_ = state_.step;
  } else if (end_wanted_) {
    ended_early_ = true;
    end_soon();
  }
}

void Trainer::end_soon() {
  const std::int64_t soon = state_.step + steps_ahead;
  end_step_ = end_step_ < 0 ? soon : std::min(end_step_, soon);
}

bool Trainer::rest_needed_after(std::int64_t step) const {
  // nothing to look at, or looked at already
  if (step == first_step_ || step == state_.step) return false;
  return std::ranges::any_of(observers_,
                             [&](const Observer* o) { return o->needs_rest_after(step); });
}

FinishedStep Trainer::take_finished() {
  executor_.wait_for_step(state_.step + 1 - first_step_);
  std::optional<execute::StepScalarsReport> mine;
  if (plan_.role(ranks_.rank()).has_loss) {
    const std::lock_guard lock(mutex_);
    mine = reports_.front();
    reports_.pop_front();
  }
  const auto now = Clock::now();
  const execute::StepAgreement agreed =
      ranks_.agree(state_.step + 1,
                   {execute::take_request(), std::ranges::any_of(observers_, &Observer::is_busy),
                    any_wants_end()},
                   state_.seconds + seconds_between(last_wall_, now), mine);
  const execute::StepScalarsReport& report = agreed.report;
  request_ = agreed.said.request;
  end_wanted_ = agreed.said.wants_end;
  if (request_ != execute::Request::none)
    log::debug("step " + std::to_string(state_.step + 1) + ": a signal asks for " +
               (request_ == execute::Request::save_and_go_on ? "a checkpoint"
                                                             : "a checkpoint and the end"));
  FinishedStep step;
  step.any_is_busy = agreed.said.is_busy;
  // a step without targets: loss and gradients are zero
  const double targets = std::max(report.target_count, 1.0);
  step.loss = report.loss_sum / targets;
  step.loss_sum = report.loss_sum;
  step.targets = report.target_count;
  step.loss_scale = report.loss_scale;
  if (mine) {  // ranks hold the same sums
    const auto sums = [&](std::string_view name) {
      const auto found = mine->metrics.find(std::string(name));
      return found == mine->metrics.end() ? std::vector<double>() : found->second;
    };
    step.metrics = sums(operations::Module::own_metrics);
    step.expert_loads = sums(program::expert_loads);
    step.fp8_counts = sums(program::fp8_counts);
    require_room(plan_, step.expert_loads);
  }
  step.grad_norm = std::sqrt(report.norm2) * plan_.nominal_targets / targets / report.loss_scale;
  step.lr = report.lr;
  step.step_time_s = seconds_between(last_, now);
  step.data_wait_s = loader_.take_wait_seconds();
  step.tokens = loader_.tokens_of(state_.step);
  last_ = now;
  ++state_.step;
  log::set_step(state_.step);
  state_.applied_steps = report.applied_steps;
  state_.lr = step.lr;
  state_.last_loss_finite = std::isfinite(step.loss);
  if (plan_.compute == DType::f16)
    advance_loss_scale(state_, std::isfinite(report.norm2), plan_.loss_scale);
  if (plan_.recipe.precision.scaling == recipe::Scaling::delayed && std::isfinite(report.norm2))
    advance_fp8_ranges(state_, step.fp8_counts);
  state_.tokens_seen += step.tokens;
  state_.seconds = agreed.seconds;
  last_wall_ = now;
  return step;
}

// Before anybody sees the step: an update inside backward has changed a part of the weights and not
// the rest, which nobody is to save or to judge.
void Trainer::require_whole(const FinishedStep& step) const {
  if (!plan_.recipe.optimizer.update_in_backward ||
      (std::isfinite(step.loss) && std::isfinite(step.grad_norm)))
    return;
  const std::int64_t samples = plan_.batch.global_batch_size, first = (state_.step - 1) * samples;
  throw UserError(
      ExitCode::diverged,
      "step " + std::to_string(state_.step) + ": loss or gradient is not finite (samples " +
          std::to_string(first) + " to " + std::to_string(first + samples - 1) +
          " of the run's order), and with optimizer.update_in_backward: true a part of the weights "
          "has been updated by then; nothing of the step was saved, checkpoints "
          "are whole: lower optimizer.lr, or leave update_in_backward out, which skips such steps");
}

void Trainer::require_converging(const FinishedStep& step) {
  non_finite_in_a_row_ =
      std::isfinite(step.loss) && std::isfinite(step.grad_norm) ? 0 : non_finite_in_a_row_ + 1;
  if (non_finite_in_a_row_ >= non_finite_limit)
    throw UserError(ExitCode::diverged,
                    "step " + std::to_string(state_.step) +
                        ": loss or gradient has not been finite for " +
                        std::to_string(non_finite_limit) +
                        " steps (weights were left as they were before); lower optimizer.lr, " +
                        (plan_.compute == DType::f16 && plan_.loss_scale.window == 0
                             ? "lower precision.loss_scale or leave it at auto"
                             : "or set optimizer.max_grad_norm"));
}

}  // namespace trainx::train
