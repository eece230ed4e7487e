#pragma once
#include "core/error.hpp"
#include "metrics/run_files.hpp"
#include "train/checkpoint_observer.hpp"
#include "train/run_folder.hpp"

namespace trainx::worker {

/// status.json: running, with the last saved step, so that it tells the truth of a killed run too; and how the process ended.
class Status : public train::Observer {
 public:
  Status(const train::RunFolder& folder, const train::CheckpointObserver& checkpoints, metrics::Console& console)
      : path_(folder.file("status.json")), checkpoints_(checkpoints), console_(console) {
    write_running();
  }
  bool needs_rest_after(std::int64_t) const override { return false; }
  void on_step_end(train::TrainState&, const train::FinishedStep&, bool) override {
    if (checkpoints_.saved_step() != written_) write_running();
  }
  void on_end(train::TrainState&, train::Request) override {}
  void failed(const std::string& reason, int exit_code) const { write("failed", reason, exit_code, checkpoints_.saved_step().value_or(0), checkpoints_.saved_step().has_value()); }
  void write(const std::string& state, const std::string& reason, int exit_code, std::int64_t step, bool resumable) const {
    try {
      metrics::write_status(path_, {state, reason, exit_code, step, resumable});
    } catch (const UserError& e) {
      console_.warning(e.what());       // a disk that is full ends no run and hides no other error
    }
  }

 private:
  void write_running() {
    written_ = checkpoints_.saved_step();
    write("running", "", 0, written_.value_or(0), written_.has_value());
  }

  std::string path_;
  const train::CheckpointObserver& checkpoints_;
  metrics::Console& console_;
  std::optional<std::int64_t> written_;
};

}  // namespace trainx::worker
