// The small files beside metrics.jsonl that tell other programs about a run.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trainx::metrics {

/// status.json, replaced as a whole whenever the state changes.
struct RunStatus {
  std::string state;                    // running | done | stopped | failed
  std::string reason;                   // one sentence, empty while all is well
  int exit_code = 0;
  std::int64_t step = 0;                // last finished
  bool resumable = false;               // the same command goes on
};
/// Throws UserError 74.
void write_status(const std::string& path, const RunStatus& status);

/// run.json, written when a run starts or goes on.
struct RunInfo {
  std::string version, host;
  std::vector<std::string> devices, argv;
  std::string started;                  // UTC, ISO 8601
  std::map<std::string, std::string> origins;   // where each of the recipe's values came from
};
void write_run_info(const std::string& path, const RunInfo& info);

}  // namespace trainx::metrics
