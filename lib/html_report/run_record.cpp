#include "html_report/run_record.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "recipe/recipe.hpp"
#include "recipe/value.hpp"
#include "recipe/resolved.hpp"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace trainx::html_report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using namespace nlohmann::literals;

Json object_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Json j = Json::parse(std::string{std::istreambuf_iterator<char>(in), {}}, nullptr, false);
  return j.is_object() ? j : Json::object();
}

void read_metrics(const std::string& path, RunRecord& run) {
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const Json j = Json::parse(line, nullptr, false);
    const auto step = j.is_object() ? j.find("step") : j.end();
    if (!j.is_object() || step == j.end() || !step->is_number()) {
      ++run.unread_lines;
      continue;
    }
    for (const auto& [key, value] : j.items()) {
      if (key == "step" || !(value.is_number() || value.is_null())) continue;
      run.series[key].push_back({step->get<double>(), value.is_null()
                                                          ? std::numeric_limits<double>::quiet_NaN()
                                                          : value.get<double>()});
    }
    if (const auto floor = j.find("eval_entropy_floor"); floor != j.end() && floor->is_number())
      run.entropy_floor = floor->get<double>();
  }
}

/// Spans of `trainx train --profile`'s trace by kind of work, per step.
void read_profile(const std::string& path, RunRecord& run) {
  const Json trace = object_in(path);
  const double steps = trace.value("/otherData/steps"_json_pointer, 0.0);
  if (!(steps > 0) || !trace.value("traceEvents", Json()).is_array()) return;
  for (const Json& e : trace["traceEvents"])
    if (e.is_object() && e.value("dur", Json()).is_number())
      run.work_ms[e.value("cat", "other")] += e["dur"].get<double>() / 1e3 / steps;
}

}  // namespace

const Points& RunRecord::of(const std::string& key) const {
  static const Points none;
  const auto found = series.find(key);
  return found == series.end() ? none : found->second;
}

RunRecord read_run(const std::string& folder) {
  if (!fs::is_directory(folder))
    throw UserError(ExitCode::input_missing,
                    "report: there is no folder " + folder + "; give a run's, outputs/NAME");
  RunRecord run;
  run.folder = folder;
  const std::string resolved = folder + "/resolved.yaml";
  if (!fs::exists(resolved))
    throw UserError(ExitCode::input_missing,
                    "report: " + folder + " is no run's folder: it has no resolved.yaml");
  run.status = object_in(folder + "/status.json");
  run.info = object_in(folder + "/run.json");
  run.plan = object_in(folder + "/plan.json");
  read_metrics(folder + "/metrics.jsonl", run);
  read_profile(folder + "/profile.json", run);
  const recipe::Recipe recipe = recipe::read_resolved(resolved).recipe;
  run.name = recipe.run.name;
  run.best_metric = recipe::write_value(recipe.eval.best.metric);
  run.best_is_highest = recipe::prefers_higher(recipe.eval.best);
  // of what differs from the default; older runs wrote none down
  const Json origins = run.info.value("origins", Json());
  for (const auto& [key, value] : recipe::flatten(recipe))
    run.settings.push_back({key, value, origins.is_object() ? origins.value(key, "default") : ""});
  run.checkpoints = checkpoint::listing(folder);
  return run;
}

}  // namespace trainx::html_report
