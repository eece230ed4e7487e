// A run up to what a search chooses: all that follows from the recipe and the facts alone.
#pragma once
#include "hardware/hardware.hpp"
#include "plan/run_plan.hpp"
#include <functional>
#include <optional>

namespace trainx::plan {

struct Drafted {
  Draft plan;
  Prediction prediction;  // rates; neither memory nor time
  Timetable times;
  std::optional<hardware::Hardware> device;  // whose rates the plan's arithmetic takes
  bool predicts = false;                     // times
  /// Null: times are not known.
  const program::Rates* rates() const {
    return prediction.step_rates ? &*prediction.step_rates : nullptr;
  }
};

/// parallel.tensor and parallel.context are numbers. Throws UserError 78 for what the recipe asks
/// for and cannot be.
Drafted draft_run(const recipe::Recipe& recipe, const facts::Facts& facts,
                  const PlanOptions& options);

/// Drafts another recipe with the facts of a run.
using DraftOf = std::function<Drafted(const recipe::Recipe&)>;

/// What a run can be drafted from again, with other values.
struct Redraft {
  recipe::Recipe asked;  // before anything was chosen
  DraftOf draft_of;
};

}  // namespace trainx::plan
