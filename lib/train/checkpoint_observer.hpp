#pragma once
#include "metrics/console.hpp"
#include "train/build.hpp"
#include "train/checkpoints.hpp"
#include "train/recurrence.hpp"
#include "state/shared_save.hpp"
#include "state/snapshot.hpp"
#include <cstdint>
#include <functional>
#include <future>
#include <utility>

namespace trainx::train {

/// Saves when it is due and whenever the held-out loss is lower than ever; a save that fails leaves
/// the older checkpoints and the run goes on, except for the last one, whose failure ends the run.
/// With checkpoint.asynchronous what is saved is copied, and written by another thread beside the
/// steps that follow, one checkpoint at a time.
class CheckpointObserver : public Observer {
 public:
  /// After TrainingParts::start; where weights lie in shards all ranks make theirs at the same
  /// time. `store`: the run's folder; null on ranks that write their shards into what rank 0
  /// begins. `saved_step`: what the folder holds already; nothing in a new one.
  CheckpointObserver(TrainingParts& parts, checkpoint::Store* store, metrics::Console& console,
                     std::optional<std::int64_t> saved_step, std::int64_t threads,
                     std::map<std::string, std::string> carried, const TrainState& state);
  /// What is being written is written to its end.
  ~CheckpointObserver() override { settle(); }
  /// What has to be on disk before a checkpoint of the same step is.
  void set_before_save(std::function<void()> call) { before_save_ = std::move(call); }
  bool needs_rest_after(std::int64_t step) const override;
  bool is_busy() const override {
    return writing_ &&
           writing_->done.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }
  void on_step_end(TrainState& state, const FinishedStep& step, bool at_rest) override;
  void on_end(TrainState& state, execute::Request request) override;
  void on_save_request(const TrainState& state) override { every_.ask(state); }
  /// At rest: saves, unless this step's checkpoint is the newest, and waits until it is on disk.
  /// Returns its folder; empty on ranks without a store. Throws UserError 74.
  std::string save_now(TrainState& state);
  /// The newest checkpoint that is whole on disk.
  std::optional<std::int64_t> saved_step() const { return saved_; }
  /// Where the run ends otherwise than by on_end: waits for what is being written. Shards that
  /// other ranks would have to complete are given up.
  void settle() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Written {
    std::string path;     // of shards empty
    double copied_s = 0;  // beside the next step
  };
  /// A checkpoint on its way to disk.
  struct Writing {
    std::int64_t step = 0, best_step = 0;
    std::optional<double> own_lr;
    Clock::time_point begun;
    // that training stood still for it, but for what steps wait for on a GPU
    double waited_s = 0;
    double step_s = 0;  // that the step before it took
    std::optional<state::SharedSave> shared;
    std::future<Written> done;  // or UserError 74
  };
  bool shares() const { return parts_.plan.in_parts(); }
  /// Whether steps would change what is being written, so that it is copied first.
  bool takes_snapshots() const { return !shares() && parts_.device->steps_change_residents(); }
  bool all_write_beside() const;
  bool has_saved(const TrainState& state) const {
    return saved_ == state.step && saved_best_ == state.best_step && saved_lr_ == state.own_lr;
  }
  void save(TrainState& state);
  void begin_writing(TrainState& state, Clock::time_point begun);
  /// Of the write under way, waiting for it; what failed is told.
  void finish_writing();
  /// The same, and throws UserError 74 if it failed.
  void complete_writing();
  std::string end_of_writing();
  void tell_failure(const UserError& e);
  void saved(const Writing& written, const std::string& path);

  TrainingParts& parts_;
  checkpoint::Store* store_;
  metrics::Console& console_;
  std::int64_t threads_;
  bool asynchronous_ = false;
  std::map<std::string, std::string> carried_;  // tokenizer files: name, contents
  Recurrence every_;
  std::optional<std::int64_t> saved_;        // last step saved in this folder
  std::int64_t saved_best_ = 0;              // state.best_step in it
  std::optional<double> saved_lr_;           // state.own_lr in it
  double step_s_ = 0;                        // that the last step took
  std::optional<state::Snapshot> snapshot_;  // where steps change what would be read
  std::optional<Writing> writing_;
  std::function<void()> before_save_ = [] {};
};

}  // namespace trainx::train
