#include "train/public_reports.hpp"
#include "architectures/own_parts.hpp"
#include "train/eval_metrics.hpp"

namespace trainx::train {

StepReport step_report(const plan::RunPlan& plan, const TrainState& state,
                       const FinishedStep& step) {
  StepReport report{state.step,      step.loss,   step.grad_norm,   step.lr,
                    step.loss_scale, step.tokens, step.step_time_s, {}};
  if (!step.metrics.empty())
    report.metrics = own_metrics(architectures::own_metrics(plan.dims), step.metrics);
  return report;
}

EvaluationReport evaluation_report(std::int64_t step, const EvalResult& result) {
  return {step, result.loss, result.targets, result.metrics};
}

}  // namespace trainx::train
