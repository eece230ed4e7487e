#pragma once
#include "metrics/console.hpp"
#include "metrics/metrics_log.hpp"
#include "train/fp8_fallback.hpp"
#include "train/observers.hpp"
#include <cstdint>

namespace trainx::train {

/// Follows precision.fallback: counts saturated elements, and at the end of a window asks for
/// programs without the products that saturate. Ranks take rank 0's decision. Attests that products
/// that have fallen back are not cast.
class Fp8FallbackObserver : public Observer {
 public:
  /// `file`: null where another rank writes it.
  Fp8FallbackObserver(const TrainingParts& parts, metrics::Console& console,
                      metrics::MetricsLog* file, bool allow_degraded);
  bool needs_rest_after(std::int64_t step) const override { return ends_window(step); }
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  bool wants_programs() const override { return wants_programs_; }
  void on_end(TrainState&, execute::Request) override {}

 private:
  bool decides() const;
  bool ends_window(std::int64_t step) const;
  void attest(const TrainState& state, const FinishedStep& step);
  void decide(TrainState& state);

  const TrainingParts& parts_;
  metrics::Console& console_;
  metrics::MetricsLog* file_;
  Fp8Products products_;
  bool allow_degraded_, warned_ = false, wants_programs_ = false;
};

}  // namespace trainx::train
