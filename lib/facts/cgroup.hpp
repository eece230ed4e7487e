// What a container or a job scheduler lets this process use: control groups, version 1 and 2.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace trainx::facts {

struct CgroupLimits {
  std::optional<double> cpus;  // quota / period
  std::optional<std::int64_t> memory_bytes;
  // below it, what the page cache would give back included
  std::optional<std::int64_t> memory_left_bytes;
  std::optional<std::int64_t> processes;  // and threads
  std::optional<std::int64_t> processes_left;
};

/// The tightest limits on the way from this process's groups up to the root. `proc` and `sys` are
/// /proc and /sys (tests: copies of them).
CgroupLimits cgroup_limits(const std::string& proc = "/proc", const std::string& sys = "/sys");

}  // namespace trainx::facts
