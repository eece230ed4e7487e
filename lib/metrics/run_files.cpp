#include "metrics/run_files.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/restarted.hpp"
#include "metrics/report.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <filesystem>

namespace trainx::metrics {
namespace {

std::string pretty(const nlohmann::ordered_json& j) {
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void write_pretty(const std::string& path, const nlohmann::ordered_json& j) {
  write_file_atomic(path, pretty(j));
}

/// Renamed over the old file, so that readers see one of the two whole.
void replace_file(const std::string& path, const std::string& contents) {
  const std::string aside = path + ".new";
  const bool written =
      static_cast<bool>(std::ofstream(aside, std::ios::binary) << contents << std::flush);
  if (written && restarted([&] { return std::rename(aside.c_str(), path.c_str()); }) == 0) return;
  const std::string why = errno_words(errno);
  std::remove(aside.c_str());
  throw UserError(ExitCode::io_error, path + " cannot be written: " + why);
}

}  // namespace

void write_status(const std::string& path, const RunStatus& s, Durability durability) {
  nlohmann::ordered_json j{{"state", s.state},
                           {"reason", s.reason},
                           {"exit_code", s.exit_code},
                           {"step", s.step},
                           {"saved_step", nullptr},
                           {"resumable", s.resumable},
                           {"seconds", s.seconds},
                           {"epoch", s.epoch},
                           {"samples_per_second", s.samples_per_second},
                           {"unix_time_s", unix_time_s()}};
  if (s.saved_step) j["saved_step"] = *s.saved_step;
  durability == Durability::survives_kill ? replace_file(path, pretty(j)) : write_pretty(path, j);
}

std::string run_info_json(const RunInfo& info) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const char* key : {"version", "commit", "build_type", "compiler", "cuda", "libtorch"}) {
    const auto found = info.build.find(key);
    j[key] = found == info.build.end() ? "unknown" : found->second;
  }
  j.update({{"host", info.host},
            {"devices", info.devices},
            {"argv", info.argv},
            {"directory", info.directory},
            {"started", info.started}});
  if (!info.overwrite.empty()) j["overwrite"] = info.overwrite;
  j["origins"] = info.origins;
  return pretty(j);
}

namespace {

nlohmann::ordered_json json_of(const MemoryErrors& errors) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  const auto put = [&](const char* key, const auto& value) {
    if (value) j[key] = *value;
  };
  put("ecc_corrected", errors.corrected);
  put("ecc_uncorrected", errors.uncorrected);
  put("row_remap_failed", errors.row_remap_failed);
  put("row_remap_pending", errors.row_remap_pending);
  put("page_retirement_pending", errors.page_retirement_pending);
  return j;
}

}  // namespace

std::string with_memory_errors(const std::string& run_info, const MemoryErrors& begin,
                               const MemoryErrors& end) {
  auto j = nlohmann::ordered_json::parse(run_info, nullptr, false);
  if (!j.is_object()) return run_info;
  j["gpu_memory_errors"] = {{"begin", json_of(begin)}, {"end", json_of(end)}};
  return pretty(j);
}

std::string run_info_text(const std::string& path, const std::string& key) {
  if (!std::filesystem::exists(path)) return {};
  const auto j = nlohmann::json::parse(read_file(path), nullptr, false);
  const auto found = j.is_object() ? j.find(key) : j.end();
  return j.is_object() && found != j.end() && found->is_string() ? found->get<std::string>()
                                                                 : std::string();
}

}  // namespace trainx::metrics
