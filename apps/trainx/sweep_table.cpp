#include "sweep_table.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "html_report/run_record.hpp"
#include "json_number.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace trainx::app {
namespace {

using Json = nlohmann::ordered_json;

/// Values of a series in order; what is not finite is kept for `last` alone.
std::optional<double> last(const html_report::Points& points) {
  return points.empty() ? std::nullopt : std::optional(points.back().y);
}

std::vector<double> finite(const html_report::Points& points) {
  std::vector<double> y;
  for (const html_report::Point& p : points)
    if (std::isfinite(p.y)) y.push_back(p.y);
  std::ranges::sort(y);
  return y;
}

std::string written(const std::optional<double>& x, const char* format) {
  if (!x) return "-";
  char text[48];
  std::snprintf(text, sizeof text, format, *x);
  return text;
}

/// Columns as wide as their widest cell; the first is left-aligned, numbers stand right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::string space(widths[k] - row[k].size(), ' ');
      text += k == 0 ? row[k] + space : "  " + space + row[k];
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> settings_of(const SweepRow& row) {
  std::vector<std::string> words;
  for (const auto& [key, value] : row.values) words.push_back(key + "=" + value);
  words.push_back("run.name=" + Json(row.name).dump());  // a JSON string is a YAML string
  return words;
}

SweepResult read_result(const std::string& folder, int exit_code) {
  SweepResult result{exit_code, {}, {}, {}, {}, {}};
  const bool refused = exit_code == static_cast<int>(ExitCode::invalid_recipe) ||
                       exit_code == static_cast<int>(ExitCode::cannot_create);
  if (refused || !std::filesystem::exists(folder + "/resolved.yaml"))
    return result;  // another run's
  const html_report::RunRecord run = html_report::read_run(folder);
  const html_report::Points& loss = run.of("loss");
  if (!loss.empty()) result.step = static_cast<std::int64_t>(loss.back().x);
  result.train_loss = last(loss);
  result.eval_loss = last(run.of("eval_loss"));
  const auto rates = finite(run.of("tokens_per_second")),
             bytes = finite(run.of("peak_memory_bytes"));
  if (!rates.empty()) result.tokens_per_second = rates[rates.size() / 2];
  if (!bytes.empty()) result.peak_memory_bytes = bytes.back();
  return result;
}

std::string sweep_table(const std::vector<SweepRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"run"}};
  for (const auto& [key, value] : rows.front().values) cells[0].push_back(key);
  for (const char* head : {"train loss", "eval loss", "tokens/s", "memory", "exit code"})
    cells[0].emplace_back(head);
  const SweepRow* best = nullptr;
  for (const SweepRow& row : rows) {
    auto& line = cells.emplace_back(std::vector<std::string>{row.name});
    for (const auto& [key, value] : row.values) line.push_back(value);
    const SweepResult r = row.result.value_or(SweepResult{});
    line.push_back(written(r.train_loss, "%.4f"));
    line.push_back(written(r.eval_loss, "%.4f"));
    line.push_back(r.tokens_per_second ? human_count(*r.tokens_per_second) : "-");
    line.push_back(
        r.peak_memory_bytes ? human_bytes(static_cast<std::int64_t>(*r.peak_memory_bytes)) : "-");
    line.push_back(row.result ? std::to_string(r.exit_code) : "-");
    const bool counts = r.exit_code == 0 && r.eval_loss && std::isfinite(*r.eval_loss);
    if (counts && (!best || *r.eval_loss < *best->result->eval_loss)) best = &row;
  }
  return aligned(cells) + (best ? "lowest eval loss: " + best->name + "\n" : "");
}

Json sweep_json(const std::vector<SweepRow>& rows) {
  Json out{{"event", "sweep"}, {"runs", Json::array()}};
  for (const SweepRow& row : rows) {
    Json j{{"name", row.name}, {"folder", row.folder}, {"values", Json::object()}};
    for (const auto& [key, value] : row.values) j["values"][key] = value;
    const SweepResult r = row.result.value_or(SweepResult{});
    j["exit_code"] = row.result ? Json(r.exit_code) : Json();
    j["step"] = r.step ? Json(*r.step) : Json();
    j["train_loss"] = number(r.train_loss);
    j["eval_loss"] = number(r.eval_loss);
    j["tokens_per_second"] = number(r.tokens_per_second);
    j["peak_memory_bytes"] = number(r.peak_memory_bytes);
    out["runs"].push_back(std::move(j));
  }
  return out;
}

}  // namespace trainx::app
