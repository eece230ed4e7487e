// The loop.
#pragma once
#include "execute/ranks.hpp"
#include "train/train_state.hpp"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>

namespace trainx::train {

/// What came out of one step.
struct FinishedStep {
  // loss: mean over the global batch's targets, before the update; grad_norm before clipping
  double loss = 0, grad_norm = 0, lr = 0, loss_scale = 1;
  double loss_sum = 0, targets = 0;  // the mean's numerator and denominator
  double step_time_s = 0, data_wait_s = 0;
  std::int64_t tokens = 0;
  std::vector<double> metrics = {};  // of a loss of the user's own: sum and count of each
  // f64 [layers, experts + 1]: program::expert_loads; empty: there are no experts, or no report
  std::vector<double> expert_loads = {};
  std::vector<double> fp8_counts = {};  // program::fp8_counts; empty: no products in fp8
  // an observer of any rank (Observer::is_busy), the same on all
  bool any_is_busy = false;
};

/// Steps that are begun beyond the last finished one, at most, so that lanes never wait for the
/// host. What ranks agree on at the end of a step none has begun more steps than these since, so
/// that it holds for all of them so many steps later.
constexpr std::int64_t steps_ahead = 2;

/// Watches the run. Memory may be read (and evaluated, saved) only at rest: when no instruction of
/// a later step has begun.
class Observer {
 public:
  virtual ~Observer() = default;
  /// At rest, before the first step of this process.
  virtual void on_begin(TrainState&) {}
  /// Will this observer need the memory at rest after step `n`? Asked before step n + 1 is begun.
  virtual bool needs_rest_after(std::int64_t step) const = 0;
  virtual void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) = 0;
  /// Is it still at something that it began before, beside the steps? Asked after each step.
  virtual bool is_busy() const { return false; }
  /// Does it ask for the run's end (early stopping)? Asked after each step. At rest the run ends
  /// with this step, on all ranks; under dp, whose replicas do not know, within steps_ahead + 1
  /// steps.
  virtual bool wants_end() const { return false; }
  /// Does the run end with this step? Asked at rest; all ranks answer alike.
  virtual bool ends_here() const { return false; }
  /// Does the run go on behind this step with other programs? Asked at rest; all ranks answer
  /// alike.
  virtual bool wants_programs() const { return false; }
  /// A signal asked for a checkpoint.
  virtual void on_save_request(const TrainState&) {}
  /// At rest, after the last step of this process, before any observer's on_end.
  virtual void before_end(TrainState&, execute::Request) {}
  /// At rest, after the last step of this process; `request` says why it ends before the last step
  /// of the run, none: it does not.
  virtual void on_end(TrainState& state, execute::Request request) = 0;
};

class Trainer {
 public:
  Trainer(const plan::RunPlan& plan, execute::Executor& executor, data::Loader& loader,
          TrainState state, execute::Ranks ranks = {});
  /// Called by the executor's report lane.
  void on_report(const execute::StepScalarsReport& report);
  /// In the order in which they act on a step.
  void add(Observer& observer) { observers_.push_back(&observer); }
  /// Trains until the duration is reached, an observer wants the end or other programs
  /// (Request::new_programs), or a signal asks to stop; returns which signal. Throws UserError 80
  /// if the loss stays non-finite (with update_in_backward: is so once), or if the run is at its
  /// end and divergence_of says why; then the last step is saved.
  execute::Request run();
  const TrainState& state() const { return state_; }

 private:
  bool is_last(std::int64_t step) const { return end_step_ >= 0 && step >= end_step_; }
  bool rest_needed_after(std::int64_t step) const;
  bool any_ends_here() const { return std::ranges::any_of(observers_, &Observer::ends_here); }
  bool any_wants_programs() const {
    return std::ranges::any_of(observers_, &Observer::wants_programs);
  }
  bool any_wants_end() const { return std::ranges::any_of(observers_, &Observer::wants_end); }
  void end_if_wanted(bool at_rest);
  /// Steps that another rank may have begun already belong to the run: it ends behind them.
  void end_soon();
  FinishedStep take_finished();
  void require_whole(const FinishedStep& step) const;
  void require_converging(const FinishedStep& step);

  const plan::RunPlan& plan_;
  execute::Executor& executor_;
  data::Loader& loader_;
  TrainState state_;
  std::vector<Observer*> observers_;
  std::mutex mutex_;
  std::deque<execute::StepScalarsReport> reports_;
  // of the rate, which leaves out what observers do at rest; of the duration
  std::chrono::steady_clock::time_point last_, last_wall_;
  std::int64_t submitted_ = 0, first_step_ = 0;
  std::int64_t end_step_ = -1;                         // of this process; -1: not known yet
  execute::Request request_ = execute::Request::none;  // that all ranks agreed on at the last step
  bool end_wanted_ = false;                            // likewise
  bool ended_early_ = false;
  execute::Ranks ranks_;
  int non_finite_in_a_row_ = 0;
};

}  // namespace trainx::train
