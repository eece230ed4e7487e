// Reports as one rank tells them to the others, exact to the bit.
#pragma once
#include "trainx/evaluation_report.hpp"
#include "trainx/step_report.hpp"
#include <string>

namespace trainx::train {

std::string to_text(const StepReport& report);
StepReport step_report_from(const std::string& text);
std::string to_text(const EvaluationReport& report);
EvaluationReport evaluation_report_from(const std::string& text);

}  // namespace trainx::train
