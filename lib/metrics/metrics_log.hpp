#pragma once
#include "metrics/event_file.hpp"
#include "metrics/metrics_file.hpp"
#include "metrics/metrics_table.hpp"
#include <cstdint>
#include <optional>

namespace trainx::metrics {

/// Where a run writes its numbers down: metrics.jsonl, metrics.csv, and where it is asked for
/// TensorBoard's files.
class MetricsLog {
 public:
  /// Of a run that goes on after `resumed_step` (0: from the start). Throws UserError 74.
  MetricsLog(const std::string& run_folder, std::int64_t resumed_step, bool for_tensorboard)
      : file_(run_folder + "/metrics.jsonl", resumed_step),
        table_(run_folder + "/metrics.csv", run_folder + "/metrics.jsonl") {
    if (for_tensorboard) events_.emplace(run_folder + "/tensorboard", resumed_step);
  }
  void append(const nlohmann::ordered_json& object) {
    file_.append(object);
    table_.append(object);
    if (events_) events_->append(object);
  }
  /// Lines of metrics.jsonl so far outlive a crash of the machine; the rest is made from them.
  void sync() { file_.sync(); }
  /// All that was written, where somebody removed it.
  void put_back_if_gone() {
    file_.put_back_if_gone();
    table_.put_back_if_gone();
    if (events_) events_->put_back_if_gone();
  }
  /// Of metrics.jsonl as it was found: empty, or what is missing, a sentence.
  const std::string& holes() const { return file_.holes(); }
  /// Empty, or why lines are waiting to be written.
  const std::string& problem() const {
    if (!file_.problem().empty()) return file_.problem();
    return table_.problem().empty() && events_ ? events_->problem() : table_.problem();
  }

 private:
  MetricsFile file_;
  MetricsTable table_;  // after file_: it is made from what that kept
  std::optional<EventFile> events_;
};

}  // namespace trainx::metrics
