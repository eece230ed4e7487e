#include "execute/step_times.hpp"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace trainx::execute {

std::vector<std::pair<Work, double>> by_work(const std::vector<StepTimes>& steps) {
  std::map<Work, double> sums;
  for (const StepTimes& step : steps)
    for (const StepSpan& span : step.spans)
      sums[span.work] += span.ms / static_cast<double>(steps.size());
  std::vector<std::pair<Work, double>> out(sums.begin(), sums.end());
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

std::map<plan::OperationKey, double> by_operation(const std::vector<StepTimes>& steps) {
  std::map<std::string, plan::Direction, std::less<>> directions;
  for (int op = 0; op <= static_cast<int>(program::Op::report); ++op)
    directions[std::string(name_of(static_cast<program::Op>(op)))] =
        plan::direction_of(static_cast<program::Op>(op));
  std::map<plan::OperationKey, double> sums;
  for (const StepTimes& step : steps)
    for (const StepSpan& span : step.spans) {
      const auto found = directions.find(span.instruction.substr(0, span.instruction.find(' ')));
      const plan::Direction direction = found == directions.end() ? plan::Direction::other
                                                                  : found->second;
      sums[{direction, plan::operations_of(span.work)}] += span.ms /
                                                           static_cast<double>(steps.size());
    }
  return sums;
}

std::string chrome_trace(const std::vector<StepTimes>& steps) {
  auto events = nlohmann::ordered_json::array();
  double step_begin_ms = 0;
  for (const StepTimes& step : steps) {
    for (const StepSpan& span : step.spans) {
      nlohmann::ordered_json event{{"name", span.instruction},
                                   {"cat", name_of(span.work)},
                                   {"ph", "X"},
                                   {"ts", 1e3 * (step_begin_ms + span.begin_ms)},
                                   {"dur", 1e3 * span.ms},
                                   {"pid", 0},
                                   {"tid", name_of(span.lane)}};
      if (!span.detail.empty()) event["args"] = {{"detail", span.detail}};
      events.push_back(std::move(event));
    }
    step_begin_ms += step.ms;
  }
  return nlohmann::ordered_json{{"traceEvents", events},
                                {"displayTimeUnit", "ms"},
                                {"otherData", {{"steps", steps.size()}}}}
             .dump() +
         "\n";
}

}  // namespace trainx::execute
