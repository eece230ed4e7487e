#include "train/callbacks.hpp"
#include "core/error.hpp"
#include <exception>
#include <utility>
#include <vector>

namespace trainx {
namespace {

/// Those of one event.
template <class Report>
std::vector<std::function<void(const Report&)>>& registered() {
  static std::vector<std::function<void(const Report&)>> all;
  return all;
}

template <class Report>
void call_all(const char* name, const Report& report) {
  const auto all = registered<Report>();  // one of them may register another
  for (const auto& call : all) {
    try {
      call(report);
    } catch (const std::exception& e) {
      throw UserError(ExitCode::invalid_recipe, std::string("the callback ") + name +
                                                    " threw after step " +
                                                    std::to_string(report.step) + ": " + e.what());
    }
  }
}

}  // namespace

void on_step(std::function<void(const StepReport&)> call) {
  registered<StepReport>().push_back(std::move(call));
}
void on_evaluation(std::function<void(const EvaluationReport&)> call) {
  registered<EvaluationReport>().push_back(std::move(call));
}
void on_save(std::function<void(const SaveReport&)> call) {
  registered<SaveReport>().push_back(std::move(call));
}

namespace train {

void call_step_callbacks(const StepReport& report) { call_all("on_step", report); }
void call_evaluation_callbacks(const EvaluationReport& report) {
  call_all("on_evaluation", report);
}
void call_save_callbacks(const SaveReport& report) { call_all("on_save", report); }

}  // namespace train
}  // namespace trainx
