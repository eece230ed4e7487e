#pragma once
#include "core/work.hpp"
#include "plan/explain/operations.hpp"
#include "program/program.hpp"
#include <functional>
#include <string>
#include <vector>

namespace trainx::execute {

/// One piece of work of a step, with the gap before it.
struct StepSpan {
  std::string instruction;  // "backward h3.mlp"
  Work work{};
  std::string detail;  // of a matrix product: its sizes
  program::Lane lane{};
  double begin_ms = 0, ms = 0;  // since the step began
};

struct StepTimes {
  std::vector<StepSpan> spans;
  double ms = 0;  // of the whole step
};
using OnTimes = std::function<void(const StepTimes&)>;

/// Milliseconds by kind of work, on average over the steps, the longest first.
std::vector<std::pair<Work, double>> by_work(const std::vector<StepTimes>& steps);

/// Milliseconds by direction and kind of operations (plan/operations.hpp), on average over the
/// steps.
std::map<plan::OperationKey, double> by_operation(const std::vector<StepTimes>& steps);

/// The steps as a Chrome trace (chrome://tracing, Perfetto): a row for each lane, spans by
/// instruction.
std::string chrome_trace(const std::vector<StepTimes>& steps);

}  // namespace trainx::execute
