// What a run's folder tells of it, also while the run goes on.
#pragma once
#include "checkpoint/listing.hpp"
#include <nlohmann/json.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainx::html_report {

struct Point {
  double x = 0, y = 0;
};
using Points = std::vector<Point>;

struct Setting {
  std::string key, value, origin;
};

struct RunRecord {
  std::string folder, name;
  // status.json, run.json, plan.json; empty objects where they are missing
  nlohmann::ordered_json status, info, plan;
  // by key of metrics.jsonl, over steps; what is not a number is NaN
  std::map<std::string, Points> series;
  std::optional<double> entropy_floor;  // nats per token, of the data
  // of eval.best: that decided which checkpoint is `best`
  std::string best_metric = "loss";
  bool best_is_highest = false;
  // of a step, by kind, of `trainx train --profile`; empty where there was none
  std::map<std::string, double> work_ms;
  // resolved.yaml, with where each came from (run.json)
  std::vector<Setting> settings;
  std::vector<checkpoint::Listed> checkpoints;
  std::int64_t unread_lines = 0;  // of metrics.jsonl
  /// Of a series; empty where it was not logged.
  const Points& of(const std::string& key) const;
};

/// Throws UserError 66 where the folder is none of a run.
RunRecord read_run(const std::string& folder);

}  // namespace trainx::html_report
