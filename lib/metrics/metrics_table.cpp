#include "metrics/metrics_table.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

namespace trainx::metrics {
namespace {

using Json = nlohmann::ordered_json;

/// RFC 4180: a cell with a comma, a quote or a line end stands in quotes, in which quotes are
/// doubled.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string cell(const Json& value) {
  if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>())))
    return {};
  return value.is_string() ? quoted(value.get<std::string>())
                           : quoted(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

MetricsTable::MetricsTable(std::string path, std::string lines_path)
    : path_(std::move(path)), lines_path_(std::move(lines_path)) {
  rebuild();
}

bool MetricsTable::add_columns(const Json& object) {
  const std::size_t before = columns_.size();
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(columns_, key) == columns_.end()) columns_.push_back(key);
  return columns_.size() > before;
}

std::string MetricsTable::row(const Json& object) const {
  std::string out;
  for (const std::string& column : columns_) {
    if (&column != &columns_.front()) out += ',';
    if (const auto found = object.find(column); found != object.end()) out += cell(*found);
  }
  return out + "\n";
}

void MetricsTable::rebuild() {
  std::vector<Json> objects;
  std::istringstream lines(std::filesystem::exists(lines_path_) ? read_file(lines_path_)
                                                                : std::string());
  for (std::string line; std::getline(lines, line);) {
    Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) continue;
    add_columns(object);
    objects.push_back(std::move(object));
  }
  std::string text;
  for (const std::string& column : columns_) text += (text.empty() ? "" : ",") + quoted(column);
  if (!text.empty()) text += '\n';
  for (const Json& object : objects) text += row(object);
  file_.reset();
  write_file_atomic(path_, text);
  file_.emplace(path_, static_cast<std::int64_t>(text.size()));
}

void MetricsTable::append(const Json& object) {
  const std::vector<std::string> before = columns_;
  if (!add_columns(object) && file_) {
    file_->append(row(object));
    problem_ = file_->problem();
    return;
  }
  try {
    rebuild();
    problem_.clear();
  } catch (const UserError& e) {  // a full disk ends no run: the next line tries again
    columns_ = before;
    problem_ = e.what();
  }
}

}  // namespace trainx::metrics
