#include "metrics/run_files.hpp"
#include "core/files.hpp"
#include <nlohmann/json.hpp>

namespace trainx::metrics {
namespace {

void write_pretty(const std::string& path, const nlohmann::ordered_json& j) {
  write_file_atomic(path, j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace

void write_status(const std::string& path, const RunStatus& s) {
  write_pretty(path, {{"state", s.state}, {"reason", s.reason}, {"exit_code", s.exit_code}, {"step", s.step}, {"resumable", s.resumable}});
}

void write_run_info(const std::string& path, const RunInfo& info) {
  write_pretty(path, {{"version", info.version}, {"host", info.host}, {"devices", info.devices}, {"argv", info.argv}, {"started", info.started}, {"origins", info.origins}});
}

}  // namespace trainx::metrics
