#include "facts/cgroup.hpp"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace trainx::facts {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::int64_t n = 0;
  return in >> n ? std::optional(n) : std::nullopt;  // "max" is no number: no limit
}

void tighten(std::optional<double>& limit, double value) {
  if (!limit || value < *limit) limit = value;
}
void tighten(std::optional<std::int64_t>& limit, std::int64_t value) {
  // Version 1 writes "no limit" as a number near 2^63.
  if (value > 0 && value < (std::int64_t{1} << 60) && (!limit || value < *limit)) limit = value;
}

/// Of "name value" lines.
std::int64_t field_in(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  std::string key;
  for (std::int64_t value = 0; in >> key >> value;)
    if (key == name) return value;
  return 0;
}

void tighten_left(std::optional<std::int64_t>& left, std::int64_t limit, std::int64_t used) {
  if (limit <= 0 || limit >= (std::int64_t{1} << 60)) return;  // none, as above
  const std::int64_t rest = std::max<std::int64_t>(limit - used, 0);
  left = left ? std::min(*left, rest) : rest;
}

void read_processes(const fs::path& folder, CgroupLimits& limits) {  // both versions alike
  const auto most = number_in(folder / "pids.max");
  if (!most) return;
  tighten(limits.processes, *most);
  tighten_left(limits.processes_left, *most, number_in(folder / "pids.current").value_or(0));
}

void read_v2(const fs::path& folder, CgroupLimits& limits) {
  read_processes(folder, limits);
  if (const auto bytes = number_in(folder / "memory.max")) {
    tighten(limits.memory_bytes, *bytes);
    tighten_left(limits.memory_left_bytes, *bytes,
                 number_in(folder / "memory.current").value_or(0) -
                     field_in(folder / "memory.stat", "inactive_file"));
  }
  std::ifstream cpu(folder / "cpu.max");
  double quota = 0, period = 0;
  if (cpu >> quota >> period && quota > 0 && period > 0) tighten(limits.cpus, quota / period);
}

void read_v1(const fs::path& folder, CgroupLimits& limits) {
  read_processes(folder, limits);
  if (const auto bytes = number_in(folder / "memory.limit_in_bytes")) {
    tighten(limits.memory_bytes, *bytes);
    tighten_left(limits.memory_left_bytes, *bytes,
                 number_in(folder / "memory.usage_in_bytes").value_or(0) -
                     field_in(folder / "memory.stat", "total_inactive_file"));
  }
  const auto quota = number_in(folder / "cpu.cfs_quota_us"),
             period = number_in(folder / "cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0)
    tighten(limits.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
}

/// Calls read(folder) for mount/group and every folder above it up to the mount. Inside a container
/// the group may name a path that is not mounted: then only the mount itself, which is the
/// container's own group, is there.
template <class Read>
void upwards(const fs::path& mount, const std::string& group, const Read& read) {
  fs::path relative = fs::path(group).relative_path();
  for (; !relative.empty(); relative = relative.parent_path()) read(mount / relative);
  read(mount);
}

}  // namespace

CgroupLimits cgroup_limits(const std::string& proc, const std::string& sys) {
  CgroupLimits limits;
  const fs::path root = fs::path(sys) / "fs/cgroup";
  std::ifstream groups(proc + "/self/cgroup");
  // hierarchy:controllers:path; version 2 is "0::path"
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      group = line.substr(second + 1);
    if (controllers.empty()) {
      upwards(root, group, [&](const fs::path& folder) { read_v2(folder, limits); });
      continue;
    }
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      if (name == "memory" || name == "cpu" || name == "pids")
        upwards(root / name, group, [&](const fs::path& folder) { read_v1(folder, limits); });
  }
  return limits;
}

}  // namespace trainx::facts
