// What a choice takes, nearly: deep models are extrapolated from two of fewer layers.
#pragma once
#include "plan/choose/evaluator.hpp"
#include "plan/choose/fewer_layers.hpp"
#include <optional>

namespace trainx::plan {

/// Of choices in which all layers have the same level.
class Estimator {
 public:
  /// `exact` outlives this; it answers where layers cannot be left out.
  explicit Estimator(Evaluator& exact);
  bool is_exact() const { return !fewer_; }
  Evaluation memory_of(const Decisions& choice) { return estimate(choice, false); }
  Evaluation of(const Decisions& choice) { return estimate(choice, true); }

 private:
  Evaluation estimate(const Decisions& choice, bool timed);

  Evaluator& exact_;
  std::optional<FewerLayers> fewer_;
  std::optional<Evaluator> few_, more_;
};

}  // namespace trainx::plan
