#pragma once
#include "metrics/appended_file.hpp"
#include <nlohmann/json_fwd.hpp>
#include <cstdint>
#include <string>

namespace trainx::metrics {

/// metrics.jsonl: one object a line, appended as the run goes.
class MetricsFile {
 public:
  /// Opens `path` of a run that goes on after `resumed_step` (0: from the start). Lines of later
  /// steps, which the run is about to repeat, are dropped, and so is a last line that a killed run
  /// left unfinished. Throws UserError 74.
  MetricsFile(const std::string& path, std::int64_t resumed_step);
  void append(const nlohmann::ordered_json& object);
  /// Lines so far outlive a crash of the machine.
  void sync() { file_.sync(); }
  void put_back_if_gone() { file_.put_back_if_gone(); }
  /// Empty, or what is missing of the steps before: a sentence.
  const std::string& holes() const { return holes_; }
  const std::string& problem() const { return file_.problem(); }

 private:
  std::string holes_;  // before file_, which is opened behind the lines that stay
  AppendedFile file_;
};

}  // namespace trainx::metrics
