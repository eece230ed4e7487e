#pragma once
#include "trainx/callbacks.hpp"

namespace trainx::train {

/// Call what was registered by trainx::on_step and its like. Throw UserError 78 that names callback
/// and step where one throws.
void call_step_callbacks(const StepReport& report);
void call_evaluation_callbacks(const EvaluationReport& report);
void call_save_callbacks(const SaveReport& report);

}  // namespace trainx::train
