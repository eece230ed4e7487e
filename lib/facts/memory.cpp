#include "facts/memory.hpp"
#include "core/units.hpp"
#include "facts/cgroup.hpp"
#include <algorithm>
#include <sstream>

namespace trainx::facts {
namespace {

/// "MemTotal:   24684096 kB" in bytes.
std::optional<std::int64_t> bytes_of(const std::string& meminfo, const std::string& key) {
  std::istringstream in(meminfo);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    if (words >> name >> kib && name == key + ":") return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

MemoryFacts detect_memory(const Roots& roots) {
  MemoryFacts facts;
  if (const auto meminfo = text_of(roots.proc + "/meminfo", "installed_bytes", facts.unread)) {
    facts.installed_bytes = bytes_of(*meminfo, "MemTotal");
    facts.free_bytes = bytes_of(*meminfo, "MemAvailable");
    if (!facts.installed_bytes)
      facts.unread["installed_bytes"] = roots.proc + "/meminfo has no MemTotal";
    if (!facts.free_bytes) facts.unread["free_bytes"] = roots.proc + "/meminfo has no MemAvailable";
  }
  const CgroupLimits limits = cgroup_limits(roots.proc, roots.sys);
  facts.cgroup_bytes = limits.memory_bytes;
  if (facts.free_bytes && limits.memory_left_bytes)
    facts.free_bytes = std::min(*facts.free_bytes, *limits.memory_left_bytes);
  return facts;
}

Findings findings_of(const MemoryFacts& facts) {
  // LibTorch, its libraries and a small model
  constexpr std::int64_t little = std::int64_t{2} << 30;
  if (!facts.free_bytes || *facts.free_bytes >= little) return {};
  const bool limited = facts.cgroup_bytes &&
                       (!facts.installed_bytes || *facts.cgroup_bytes < *facts.installed_bytes);
  return {{.problem =
               human_bytes(*facts.free_bytes) + " of memory are free" +
               (limited ? " under the cgroup's limit of " + human_bytes(*facts.cgroup_bytes) : ""),
           .remedy =
               limited ? "raise the container's or job's limit (docker run --memory, sbatch --mem)"
                       : "end what takes it (top, then M), or train on another machine"}};
}

Json to_json(const MemoryFacts& facts) {
  Json j = Json::object();
  put(j, "installed_bytes", facts.installed_bytes);
  put(j, "cgroup_bytes", facts.cgroup_bytes);
  put(j, "free_bytes", facts.free_bytes);
  put_unread(j, facts.unread);
  return j;
}

Lines describe(const MemoryFacts& facts) {
  Lines lines{joined(
      {facts.installed_bytes ? human_bytes(*facts.installed_bytes) + " installed" : "",
       facts.cgroup_bytes ? human_bytes(*facts.cgroup_bytes) + " by the cgroup" : "no cgroup limit",
       facts.free_bytes ? human_bytes(*facts.free_bytes) + " free" : ""})};
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::facts
