#pragma once
#include "train/callbacks.hpp"
#include "train/public_reports.hpp"
#include "train/trainer.hpp"
#include <cstdint>

namespace trainx::train {

/// Calls the callbacks of steps. Those of evaluations and saves are called where these are made.
class CallbackObserver : public Observer {
 public:
  explicit CallbackObserver(const plan::RunPlan& plan) : plan_(plan) {}
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(TrainState& state, const FinishedStep& step, bool) override {
    call_step_callbacks(step_report(plan_, state, step));
  }
  void on_end(TrainState&, execute::Request) override {}

 private:
  const plan::RunPlan& plan_;
};

}  // namespace trainx::train
