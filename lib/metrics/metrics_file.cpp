#include "metrics/metrics_file.hpp"
#include "core/files.hpp"
#include "metrics/report.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace trainx::metrics {
namespace {

/// What is found of a run's earlier steps.
struct Found {
  std::string kept;  // whole lines of steps up to the resumed one
  std::int64_t damaged = 0;
  // of lines with a step: the last, and the most steps from one to the next
  std::int64_t last_step = 0, largest_gap = 0, steps = 0;
};

void take(std::string_view line, std::int64_t resumed_step, Found& found) {
  const auto j = nlohmann::json::parse(line, nullptr, false);
  if (!j.is_object()) {
    ++found.damaged;
    return;
  }
  const auto at = j.find("step");
  const bool has_step = at != j.end() && at->is_number_integer();
  const std::int64_t step = has_step ? at->get<std::int64_t>() : 0;
  if (step > resumed_step) return;
  found.kept.append(line).push_back('\n');
  if (!has_step) return;
  found.largest_gap = std::max(found.largest_gap, step - found.last_step);
  found.last_step = step;
  ++found.steps;
}

Found look_through(const std::string& text, std::int64_t resumed_step) {
  Found found;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a line without its end was cut off
    take(std::string_view(text).substr(begin, end - begin), resumed_step, found);
    begin = end + 1;
  }
  return found;
}

/// The first step is always logged. Steps between the last line and the resumed one are missing
/// where they are far more than ever lay between two lines; two lines tell nothing of that.
std::string holes_of(const Found& found, std::int64_t resumed_step, const std::string& path) {
  const std::int64_t tail = resumed_step - found.last_step;
  std::string what;
  if (found.damaged > 0)
    what = std::to_string(found.damaged) + " of its lines were damaged and are left out";
  if (found.steps == 0 || (found.steps > 2 && tail > 2 * found.largest_gap))
    what += (what.empty() ? "" : ", and ") +
            ("it has no line of steps " + std::to_string(found.last_step + 1) + " to ") +
            std::to_string(resumed_step);
  return what.empty() ? "" : path + " has holes: " + what + "; the run itself lost nothing";
}

/// Bytes of the lines that stay.
std::int64_t keep_lines(const std::string& path, std::int64_t resumed_step, std::string& holes) {
  const std::string text = std::filesystem::exists(path) ? read_file(path) : "";
  const Found found = look_through(text, resumed_step);
  holes = resumed_step > 0 ? holes_of(found, resumed_step, path) : "";
  if (found.kept != text) write_file_atomic(path, found.kept);
  return static_cast<std::int64_t>(found.kept.size());
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, std::int64_t resumed_step)
    : file_(path, keep_lines(path, resumed_step, holes_)) {}

void MetricsFile::append(const nlohmann::ordered_json& object) {
  file_.append(json_line(object) + "\n");
}

}  // namespace trainx::metrics
