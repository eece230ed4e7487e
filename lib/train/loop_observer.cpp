#include "train/loop_observer.hpp"
#include "core/error.hpp"
#include "train/learning_rates.hpp"
#include "train/public_reports.hpp"
#include "train/report_text.hpp"
#include "trainx/graph.hpp"
#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace trainx::train {
namespace {

/// Have all ranks the duty? Else the first has it.
bool all_have(bool plan::Duties::*duty, const TrainingParts& parts) {
  return parts.plan.program_set.all(duty);
}

bool makes_own_rates(const recipe::Recipe& recipe) {
  const auto* adafactor = std::get_if<options::AdafactorOptions>(&recipe.optimizer.options);
  return adafactor && adafactor->relative_step;
}

}  // namespace

void LoopObserver::on_begin(TrainState& state) { converse(state, {}); }

void LoopObserver::on_step_end(TrainState& state, const FinishedStep& step, bool) {
  StepReport report = step_report(parts_.plan, state, step);
  if (!all_have(&plan::Duties::has_loss, parts_))
    report = step_report_from(parts_.ranks.from_first(to_text(report)));
  converse(state, std::move(report));
}

void LoopObserver::before_end(TrainState& state, execute::Request request) {
  if (closed_) return;
  at_end_ = true;
  // whoever sent the signal may not wait for what the loop does next
  if (request != execute::Request::none && checkpoints_) checkpoints_->save_now(state);
  converse(state, {});
}

void LoopObserver::converse(TrainState& state, LoopAnswer answer) {
  for (;;) {
    const LoopCall call = next(state, std::move(answer));
    require_same_on_all(call, state);
    closed_ = call.kind == LoopCall::Kind::close;
    if (closed_ || (call.kind == LoopCall::Kind::step && !at_end_)) return;
    answer = answer_to(call, state);
  }
}

LoopCall LoopObserver::next(const TrainState& state, LoopAnswer answer) const {
  const execute::Ranks::Busy busy(parts_.ranks, "in its own loop");
  const std::int64_t total = parts_.plan.total_steps;
  LoopCall call =
      channel_.next(std::move(answer), {parts_.ranks.rank(), parts_.ranks.world_size(), state.step,
                                        total < 0 ? std::nullopt : std::optional(total)});
  if (call.kind == LoopCall::Kind::fail) throw UserError(call.code, call.sentence);
  return call;
}

void LoopObserver::require_same_on_all(const LoopCall& call, const TrainState& state) const {
  const std::vector<std::string> all = parts_.ranks.exchange(describe(call));
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all.front())
      throw UserError(ExitCode::not_as_asked,
                      "after step " + std::to_string(state.step) + " the loop of rank " +
                          std::to_string(r) + " calls " + all[r] + " and that of rank 0 " +
                          all.front() + "; all ranks must make the same calls, in the same order");
}

LoopAnswer LoopObserver::answer_to(const LoopCall& call, TrainState& state) {
  switch (call.kind) {
    case LoopCall::Kind::evaluate: return evaluate(state);
    case LoopCall::Kind::save: return save(state);
    case LoopCall::Kind::set_lr: return set_lr(call.lr, state);
    case LoopCall::Kind::parameters: return parameters();
    case LoopCall::Kind::step:
    case LoopCall::Kind::close:
    case LoopCall::Kind::fail: break;
  }
  return {};
}

LoopAnswer LoopObserver::evaluate(TrainState& state) {
  if (!parts_.eval_source)
    return UserError(ExitCode::input_missing,
                     "evaluate(): the recipe names no held-out data; set data.eval or "
                     "data.held_out");
  EvaluationReport report;
  if (eval_) report = evaluation_report(state.step, eval_->evaluate_now(state));
  if (!all_have(&plan::Duties::evaluates, parts_))
    report = evaluation_report_from(parts_.ranks.from_first(to_text(report)));
  if (!std::isfinite(report.loss))
    return UserError(ExitCode::diverged, not_finite_held_out(state.step));
  return report;
}

LoopAnswer LoopObserver::save(TrainState& state) {
  nlohmann::json said{{"folder", ""}, {"error", ""}};
  try {
    if (checkpoints_) said["folder"] = checkpoints_->save_now(state);
  } catch (const UserError& e) {
    if (e.code() != ExitCode::io_error) throw;
    said["error"] = e.what();
  }
  said = nlohmann::json::parse(parts_.ranks.from_first(said.dump()));
  if (const auto error = said.at("error").get<std::string>(); !error.empty())
    return UserError(ExitCode::io_error, error);
  return said.at("folder").get<std::string>();
}

LoopAnswer LoopObserver::set_lr(std::optional<double> lr, TrainState& state) {
  if (lr && !(std::isfinite(*lr) && *lr >= 0))
    return UserError(ExitCode::usage, "set_lr(): " + std::to_string(*lr) +
                                          " is no learning rate; it must be 0 or more");
  if (makes_own_rates(parts_.plan.recipe))
    return UserError(ExitCode::invalid_recipe,
                     "set_lr() can have no effect with optimizer.options.relative_step: true, by "
                     "which Adafactor makes its own step sizes; write relative_step: false");
  state.own_lr = lr;
  if (parts_.role.keeps_weights)
    parts_.device->upload_part(
        std::as_bytes(parts_.resident.set_learning_rates(learning_rates(parts_.plan, state))));
  return {};
}

LoopAnswer LoopObserver::parameters() const {
  const bool by_first = !all_have(&plan::Duties::keeps_weights, parts_);
  comm::Communicator* const among = by_first ? parts_.ranks.communicator() : nullptr;
  if (by_first && !among)
    return UserError(ExitCode::invalid_recipe,
                     "parameters(): under parallel.mode: dp on GPUs the weights are rank 0's; "
                     "write parallel.mode: ddp");
  parts_.device->download();
  const auto out = std::make_shared<std::vector<NamedTensor>>();
  for (const checkpoint::TensorSource& weight : parts_.resident.weights()) {
    at::Tensor copy = at::empty(weight.dims, at::kFloat);
    const std::span<std::byte> bytes(static_cast<std::byte*>(copy.mutable_data_ptr()),
                                     copy.nbytes());
    if (weight.prepare) weight.prepare();
    if (parts_.role.keeps_weights) weight.fill(bytes);
    if (among) among->broadcast(bytes.data(), static_cast<std::int64_t>(bytes.size()), 0);
    out->push_back({weight.name, std::move(copy)});
  }
  return out;
}

}  // namespace trainx::train
