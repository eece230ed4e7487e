#include "train/tune_observer.hpp"
#include <chrono>
#include "core/units.hpp"

namespace trainx::train {

void TuneObserver::on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) {
  if (done_ || !parts_.plan.on_gpu) return;
  if (at_ < 0) at_ = state.step - 1 + steps_before;
  if (!at_rest || state.step < at_) return;
  done_ = true;
  const auto& plan = parts_.plan;
  const double left = plan.total_steps >= 0
                          ? static_cast<double>(plan.total_steps - state.step) * step.step_time_s
                          : plan.total_seconds - state.seconds;
  if (left < worth_seconds) return;
  const auto begin = std::chrono::steady_clock::now();
  // which takes longer the more sizes there are
  const execute::Ranks::Busy busy(parts_.ranks, "tuning matrix products");
  const int tuned = parts_.device->tune();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (tuned > 0)
    console_.message("measured the candidates for " + std::to_string(tuned) +
                     " matrix products in " + human_seconds(seconds) +
                     "; the choices are kept for other runs");
}

}  // namespace trainx::train
