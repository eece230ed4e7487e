#include "metrics/metrics_file.hpp"
#include "core/files.hpp"
#include "metrics/report.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>
#include <string_view>

namespace trainx::metrics {
namespace {

bool belongs_to(std::string_view line, std::int64_t resumed_step) {
  const auto j = nlohmann::json::parse(line, nullptr, false);
  if (!j.is_object()) return false;
  const auto step = j.find("step");
  return step == j.end() || !step->is_number_integer() || step->get<std::int64_t>() <= resumed_step;
}

/// The whole lines of steps up to `resumed_step`.
std::string kept_lines(const std::string& text, std::int64_t resumed_step) {
  std::string kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a line without its end was cut off
    const std::string_view line(text.data() + begin, end - begin);
    if (belongs_to(line, resumed_step)) kept.append(line).push_back('\n');
    begin = end + 1;
  }
  return kept;
}

/// Bytes of the lines that stay.
std::int64_t keep_lines(const std::string& path, std::int64_t resumed_step) {
  if (!std::filesystem::exists(path)) return 0;
  const std::string text = read_file(path);
  const std::string kept = kept_lines(text, resumed_step);
  if (kept != text) write_file_atomic(path, kept);
  return static_cast<std::int64_t>(kept.size());
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, std::int64_t resumed_step)
    : file_(path, keep_lines(path, resumed_step)) {}

void MetricsFile::append(const nlohmann::ordered_json& object) {
  file_.append(json_line(object) + "\n");
}

}  // namespace trainx::metrics
