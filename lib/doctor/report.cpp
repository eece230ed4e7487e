#include "doctor/report.hpp"
#include "facts/host_update_rate.hpp"
#include <algorithm>

namespace trainx::doctor {

using namespace facts;
namespace {

/// Calls visit(key in JSON, heading, facts) for each section, in the order that people read them.
template <class Visit>
void for_each_section(const MachineReport& r, const Visit& visit) {
  visit("trainx", "trainx", r.trainx);
  visit("cpu", "CPU", r.cpu);
  visit("memory", "memory", r.memory);
  visit("memory_bandwidth", "", r.memory_bandwidth);
  visit("limits", "limits", r.limits);
  visit("disk", "disk", r.disk);
  visit("gpus", "GPUs", r.gpus);
  visit("binding", "cores", r.binding);
  visit("versions", "versions", r.versions);
}

bool is_error(const Finding& finding) { return finding.weight == Finding::Weight::error; }

}  // namespace

MachineReport examine_machine(const std::string& worker, const BuildFacts& build,
                              const std::string& folder, const Roots& roots) {
  MachineReport report;
  report.cpu = detect_cpu(roots);  // first: what follows is load of our own
  report.memory = detect_memory(roots);
  report.limits = detect_limits(roots);
  report.memory_bandwidth =
      measure_memory_bandwidth(report.cpu.cores_usable().value_or(1),
                               triad_array_bytes(roots.sys, report.memory.free_bytes.value_or(0)));
  if (report.memory_bandwidth.in_place_bytes_per_second)
    remember_host_update_rate(*report.memory_bandwidth.in_place_bytes_per_second,
                              report.memory_bandwidth.threads);
  report.disk = detect_disk(folder, roots);
  report.gpus = detect_gpus(roots, build.cuda);
  report.binding = detect_binding(roots, report.gpus);
  report.trainx = detect_installation(worker, build);
  if (report.trainx.worker_version) measure_links(worker, report.gpus);
  report.versions = detect_versions(roots, report.trainx.libtorch.value_or(""));
  return report;
}

Findings findings_of(const MachineReport& report) {
  Findings all;
  for_each_section(report, [&](const char*, const char*, const auto& section) {
    if constexpr (requires { findings_of(section); })
      std::ranges::copy(findings_of(section), std::back_inserter(all));
  });
  std::ranges::stable_partition(all, is_error);
  return all;
}

Json to_json(const MachineReport& report) {
  Json j = Json::object();
  for_each_section(report, [&](const char* key, const char*, const auto& section) {
    j[key] = to_json(section);
  });
  j["findings"] = Json::array();
  for (const Finding& f : findings_of(report))
    j["findings"].push_back({{"weight", is_error(f) ? "error" : "warning"},
                             {"problem", f.problem},
                             {"remedy", f.remedy}});
  return j;
}

std::string describe(const MachineReport& report) {
  constexpr std::size_t width = 10;
  std::string text;
  for_each_section(report, [&](const char*, const char* heading, const auto& section) {
    std::string margin = heading;
    for (const std::string& line : describe(section)) {
      text += margin + std::string(width - margin.size(), ' ') + line + "\n";
      margin.clear();
    }
  });
  const Findings findings = findings_of(report);
  text += findings.empty() ? "nothing is wrong\n" : "\n";
  for (const Finding& f : findings)
    text += std::string(is_error(f) ? "finding, training cannot work: " : "finding: ") + f.problem +
            "; " + f.remedy + "\n";
  return text;
}

}  // namespace trainx::doctor
