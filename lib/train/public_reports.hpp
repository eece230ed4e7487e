// Reports as loops and callbacks of the user's own get them.
#pragma once
#include "plan/run_plan.hpp"
#include "train/evaluator.hpp"
#include "train/trainer.hpp"
#include "trainx/evaluation_report.hpp"
#include "trainx/step_report.hpp"
#include <cstdint>

namespace trainx::train {

StepReport step_report(const plan::RunPlan& plan, const TrainState& state,
                       const FinishedStep& step);
EvaluationReport evaluation_report(std::int64_t step, const EvalResult& result);

}  // namespace trainx::train
