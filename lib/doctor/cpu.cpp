#include "doctor/cpu.hpp"
#include "facts/cgroup.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>

namespace trainx::doctor {

using namespace facts;
namespace {

// As /proc/cpuinfo spells them, and as people do.
constexpr std::array<std::pair<const char*, const char*>, 6> known_sets{
    {{"avx2", "AVX2"},
     {"avx512f", "AVX-512"},
     {"avx512_bf16", "AVX-512 BF16"},
     {"avx512_fp16", "AVX-512 FP16"},
     {"amx_tile", "AMX"},
     {"amx_bf16", "AMX BF16"}}};

/// What stands behind `key` and a colon, in the first line that begins so.
std::optional<std::string> value_of(const std::string& text, const std::string& key) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.find_first_not_of(" \t", key.size()) != colon) continue;
    const auto value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return std::nullopt;
}

void read_cpuinfo(const std::string& proc, CpuFacts& facts) {
  const auto text = text_of(proc + "/cpuinfo", "model", facts.unread);
  if (!text) return;
  facts.model = value_of(*text, "model name");
  if (!facts.model) facts.unread["model"] = proc + "/cpuinfo names no model";
  const auto flags = value_of(*text, "flags");
  facts.x86 = flags.has_value();
  if (!flags) return;
  const std::string words = " " + *flags + " ";
  for (const auto& [flag, name] : known_sets)
    if (words.find(" " + std::string(flag) + " ") != std::string::npos)
      facts.instruction_sets.emplace_back(name);
}

std::optional<std::int64_t> count_nodes(const std::string& folder, Unread& unread) {
  std::int64_t nodes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 4 && name.starts_with("node") &&
        std::ranges::all_of(name.substr(4), [](char c) { return c >= '0' && c <= '9'; }))
      ++nodes;
  }
  if (nodes > 0) return nodes;
  unread["numa_nodes"] = folder +
                         (error ? " cannot be read: " + error.message() : " lists no node");
  return std::nullopt;
}

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

}  // namespace

std::optional<std::int64_t> count_in_list(const std::string& list) {
  std::istringstream in(list);
  std::int64_t count = 0;
  for (std::string part; std::getline(in, part, ',');) {
    std::istringstream range(part);
    std::int64_t first = 0, last = 0;
    char dash = 0;
    if (!(range >> first)) return std::nullopt;
    if (!(range >> dash >> last)) last = first;
    if (last < first) return std::nullopt;
    count += last - first + 1;
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<std::int64_t> CpuFacts::cores_usable() const {
  if (!cores_by_affinity) return std::nullopt;
  // A quota of 1.5 cores is used by two threads.
  return cores_by_quota ? std::clamp<std::int64_t>(std::llround(std::ceil(*cores_by_quota)), 1,
                                                   *cores_by_affinity)
                        : *cores_by_affinity;
}

CpuFacts detect_cpu(const Roots& roots) {
  CpuFacts facts;
  read_cpuinfo(roots.proc, facts);
  if (const auto list =
          text_of(roots.sys + "/devices/system/cpu/present", "cores_installed", facts.unread)) {
    facts.cores_installed = count_in_list(*list);
    if (!facts.cores_installed)
      facts.unread["cores_installed"] = roots.sys +
                                        "/devices/system/cpu/present is no list of cores: '" +
                                        list->substr(0, 40) + "'";
  }
  if (const auto status = text_of(roots.proc + "/self/status", "cores_by_affinity", facts.unread)) {
    facts.cores_by_affinity = count_in_list(value_of(*status, "Cpus_allowed_list").value_or(""));
    if (!facts.cores_by_affinity)
      facts.unread["cores_by_affinity"] = roots.proc + "/self/status has no Cpus_allowed_list";
  }
  facts.cores_by_quota = cgroup_limits(roots.proc, roots.sys).cpus;
  facts.numa_nodes = count_nodes(roots.sys + "/devices/system/node", facts.unread);
  if (const auto load = text_of(roots.proc + "/loadavg", "load", facts.unread)) {
    std::istringstream in(*load);
    double minute = 0;
    if (in >> minute)
      facts.load = minute;
    else
      facts.unread["load"] = roots.proc + "/loadavg has no number";
  }
  return facts;
}

Findings findings_of(const CpuFacts& facts) {
  Findings found;
  if (facts.x86 &&
      std::ranges::find(facts.instruction_sets, "AVX2") == facts.instruction_sets.end())
    found.push_back(
        {.problem = "the CPU shows no AVX2, without which training on it is several times slower",
         .remedy =
             "in a virtual machine pass the host's CPU through, else train on another machine"});
  if (facts.load && facts.cores_installed &&
      *facts.load > 1.5 * static_cast<double>(*facts.cores_installed))
    found.push_back({.problem = "load is " + short_number(*facts.load) + " on " +
                                counted(*facts.cores_installed, "core") +
                                ", so that others' processes slow training down",
                     .remedy = "look with top for what runs, and end it or wait for it"});
  if (facts.cores_by_quota && *facts.cores_by_quota < 1)
    found.push_back(
        {.problem = "the cgroup's quota is " + short_number(*facts.cores_by_quota) + " of a core",
         .remedy = "give the container at least one core for each rank (docker run --cpus)"});
  return found;
}

Json to_json(const CpuFacts& facts) {
  Json j = Json::object();
  put(j, "model", facts.model);
  put(j, "cores_installed", facts.cores_installed);
  put(j, "cores_by_affinity", facts.cores_by_affinity);
  put(j, "cores_by_quota", facts.cores_by_quota);
  put(j, "cores_usable", facts.cores_usable());
  put(j, "numa_nodes", facts.numa_nodes);
  put(j, "load", facts.load);
  j["instruction_sets"] = facts.instruction_sets;
  put_unread(j, facts.unread);
  return j;
}

Lines describe(const CpuFacts& facts) {
  const auto usable = facts.cores_usable();
  std::string cores = usable ? std::to_string(*usable) +
                                   (facts.cores_installed
                                        ? " of " + counted(*facts.cores_installed, "core")
                                        : " cores") +
                                   " usable"
                             : "";
  if (facts.cores_by_quota) cores += " (quota " + short_number(*facts.cores_by_quota) + ")";
  Lines lines{joined({facts.model.value_or(""), cores,
                      facts.numa_nodes ? counted(*facts.numa_nodes, "NUMA node") : "",
                      facts.load ? "load " + short_number(*facts.load) : ""})};
  if (facts.x86)
    lines.push_back(facts.instruction_sets.empty() ? "no AVX2" : joined(facts.instruction_sets));
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::doctor
