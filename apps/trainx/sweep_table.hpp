// What the runs of a sweep came to, as a table and as JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainx::app {

/// Numbers of a run that ended. Those that the run never logged are empty.
struct SweepResult {
  int exit_code = 0;
  std::optional<std::int64_t> step;
  std::optional<double> train_loss, eval_loss;  // last ones, nats per target
  std::optional<double> tokens_per_second;      // median
  std::optional<double> peak_memory_bytes;      // highest
};

struct SweepRow {
  std::string name, folder;                                 // of the run
  std::vector<std::pair<std::string, std::string>> values;  // swept key and value
  std::optional<SweepResult> result;  // empty: not started, or stopped before its end
};

/// The row's settings as words of a command line, with run.name.
std::vector<std::string> settings_of(const SweepRow& row);
/// From metrics.jsonl and status.json of the run's folder, which may be missing.
SweepResult read_result(const std::string& folder, int exit_code);

std::string sweep_table(const std::vector<SweepRow>& rows);
nlohmann::ordered_json sweep_json(const std::vector<SweepRow>& rows);

}  // namespace trainx::app
