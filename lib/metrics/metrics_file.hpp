#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainx::metrics {

/// metrics.jsonl: one object a line, appended as the run goes, each line handed to the system at once.
/// A disk that is full does not end the run: lines that cannot be written are kept and tried again with the next, and `problem` says why.
class MetricsFile {
 public:
  /// Opens `path` of a run that goes on after `resumed_step` (0: from the start). Lines of later steps, which the run is about to repeat, are dropped,
  /// and so is a last line that a killed run left unfinished. Throws UserError 74.
  MetricsFile(std::string path, std::int64_t resumed_step);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void append(const nlohmann::ordered_json& object);
  /// Empty, or why lines are waiting to be written.
  const std::string& problem() const { return problem_; }

 private:
  std::string path_, waiting_, problem_;
  int fd_ = -1;
  std::int64_t size_ = 0;               // of whole lines
};

}  // namespace trainx::metrics
