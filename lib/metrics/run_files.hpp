// The small files beside metrics.jsonl that tell other programs about a run.
#pragma once
#include "core/memory_errors.hpp"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainx::metrics {

/// status.json, replaced as a whole whenever the state changes, and at logged steps, at most once a
/// second.
struct RunStatus {
  std::string state;   // running | done | stopped | failed
  std::string reason;  // one sentence, empty while all is well
  int exit_code = 0;
  std::int64_t step = 0;                   // last finished
  bool resumable = false;                  // the same command goes on
  std::optional<std::int64_t> saved_step;  // of the newest checkpoint; null: there is none
  double seconds = 0;                      // spent training, all processes together
  double epoch = 0;                        // passes over the training data
  double samples_per_second = 0;           // on average over `seconds`
};
enum class Durability : std::uint8_t { survives_power_loss, survives_kill };
/// Adds unix_time_s, the time of writing. `survives_kill` writes without fsync. Throws
/// UserError 74.
void write_status(const std::string& path, const RunStatus& status,
                  Durability durability = Durability::survives_power_loss);

/// run.json, written when a run starts or goes on.
struct RunInfo {
  // version, commit, build_type, compiler, cuda, libtorch
  std::map<std::string, std::string> build;
  std::string host;
  std::vector<std::string> devices, argv;
  std::string directory;                       // relative paths of the recipe go by it
  std::string started;                         // UTC, ISO 8601
  std::string overwrite;                       // which `train --overwrite` began it; empty: none
  std::map<std::string, std::string> origins;  // where each of the recipe's values came from
};
std::string run_info_json(const RunInfo& info);
/// The text of a run.json with ECC's counters, as "gpu_memory_errors": {"begin", "end"}. A text
/// that is none stays as it is.
std::string with_memory_errors(const std::string& run_info, const MemoryErrors& begin,
                               const MemoryErrors& end);
/// A text of run.json, e.g. "directory"; empty where there is no file or no such text.
std::string run_info_text(const std::string& path, const std::string& key);

}  // namespace trainx::metrics
