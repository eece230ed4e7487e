#pragma once
#include "core/error.hpp"
#include "metrics/run_files.hpp"
#include "train/checkpoint_observer.hpp"
#include "train/observers.hpp"
#include "train/run_folder.hpp"
#include <cstdint>

namespace trainx::worker {

/// status.json of a run whose state is `state`.
inline metrics::RunStatus run_status(const plan::RunPlan& plan, const train::TrainState& state) {
  metrics::RunStatus status;
  status.step = state.step;
  status.seconds = state.seconds;
  status.epoch = train::epochs_of(plan, state);
  const auto samples = static_cast<double>(state.step) *
                       static_cast<double>(plan.batch.global_batch_size);
  status.samples_per_second = state.seconds > 0 ? samples / state.seconds : 0;
  return status;
}

/// Keeps status.json: while the run goes on at most once a second, with the last finished step and
/// the last saved one, so that it tells the truth of a killed run too; and how the process ended.
class Status : public train::Observer {
 public:
  Status(const train::RunFolder& folder, const plan::RunPlan& plan,
         const train::CheckpointObserver& checkpoints, metrics::Console& console,
         const train::TrainState& state)
      : folder_(folder), plan_(plan), checkpoints_(checkpoints), console_(console), state_(state) {
    write("running", "", 0);
  }
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(train::TrainState& state, const train::FinishedStep&, bool) override {
    state_ = state;
    const auto now = Clock::now();
    if (checkpoints_.saved_step() == told_saved_ && now - written_ < std::chrono::seconds(1))
      return;
    write("running", "", 0, metrics::Durability::survives_kill);
  }
  void on_end(train::TrainState& state, execute::Request) override { state_ = state; }
  void failed(const std::string& reason, int exit_code) { write("failed", reason, exit_code); }
  void write(const std::string& state, const std::string& reason, int exit_code,
             metrics::Durability durability = metrics::Durability::survives_power_loss) {
    written_ = Clock::now();
    if (!folder_.is_there()) return;  // what has its name may be another run's
    told_saved_ = checkpoints_.saved_step();
    metrics::RunStatus status = run_status(plan_, state_);
    status.state = state;
    status.reason = reason;
    status.exit_code = exit_code;
    status.saved_step = told_saved_;
    const bool at_end = plan_.total_steps >= 0 && state_.step >= plan_.total_steps &&
                        told_saved_ == state_.step;
    status.resumable = told_saved_.has_value() && !at_end && state != "done";
    try {
      metrics::write_status(folder_.file("status.json"), status, durability);
    } catch (const UserError& e) {
      console_.warning(e.what());  // a disk that is full ends no run and hides no other error
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  const train::RunFolder& folder_;
  const plan::RunPlan& plan_;
  const train::CheckpointObserver& checkpoints_;
  metrics::Console& console_;
  train::TrainState state_;
  std::optional<std::int64_t> told_saved_;
  Clock::time_point written_;
};

}  // namespace trainx::worker
