#pragma once
#include "metrics/appended_file.hpp"
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace trainx::metrics {

/// metrics.csv: the lines of metrics.jsonl as a table, for programs that read no JSON lines. A key
/// that appears later becomes a further column. Numbers that are not finite, and keys that a line
/// lacks, are empty cells.
class MetricsTable {
 public:
  /// Makes the table anew from `lines_path`, which is cut to the resumed step already. Throws
  /// UserError 74.
  MetricsTable(std::string path, std::string lines_path);
  /// A line that metrics.jsonl holds by now.
  void append(const nlohmann::ordered_json& object);
  void put_back_if_gone() {
    if (file_) file_->put_back_if_gone();
  }
  /// Empty, or why rows are waiting to be written.
  const std::string& problem() const { return problem_; }

 private:
  bool add_columns(const nlohmann::ordered_json& object);
  std::string row(const nlohmann::ordered_json& object) const;
  void rebuild();

  std::string path_, lines_path_, problem_;
  std::vector<std::string> columns_;
  std::optional<AppendedFile> file_;
};

}  // namespace trainx::metrics
