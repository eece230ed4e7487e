#include "doctor/gpus.hpp"
#include "facts/links.hpp"

namespace trainx::doctor {

using namespace facts;
namespace {

Json json_of(const GpuFacts& gpu) {
  Json j{{"name", gpu.name}};
  put(j, "address", gpu.address);
  put(j, "memory_bytes", gpu.memory_bytes);
  put(j, "memory_used_bytes", gpu.memory_used_bytes);
  put(j, "clock_mhz", gpu.clock_mhz);
  put(j, "most_clock_mhz", gpu.most_clock_mhz);
  put(j, "watts", gpu.watts);
  put(j, "most_watts", gpu.most_watts);
  put(j, "celsius", gpu.celsius);
  put(j, "performance_state", gpu.performance_state);
  j["clock_limits"] = Json::array();
  for (const ClockLimit limit : gpu.clock_limits) j["clock_limits"].push_back(name_of(limit));
  put(j, "ecc", gpu.ecc);
  put(j, "ecc_corrected", gpu.memory_errors.corrected);
  put(j, "ecc_uncorrected", gpu.memory_errors.uncorrected);
  put(j, "row_remap_failed", gpu.memory_errors.row_remap_failed);
  put(j, "row_remap_pending", gpu.memory_errors.row_remap_pending);
  put(j, "page_retirement_pending", gpu.memory_errors.page_retirement_pending);
  put(j, "pcie_generation", gpu.pcie.generation);
  put(j, "pcie_most_generation", gpu.pcie.most_generation);
  put(j, "pcie_width", gpu.pcie.width);
  put(j, "pcie_most_width", gpu.pcie.most_width);
  put(j, "compute_mode", gpu.compute_mode);
  put(j, "mig", gpu.mig);
  put(j, "compute_capability", gpu.compute_capability);
  put(j, "bf16", gpu.bf16());
  put(j, "fp8", gpu.fp8());
  put(j, "rates", gpu.rates);
  put(j, "numa_node", gpu.numa_node);
  if (gpu.nvlink) {
    j["nvlink"] = {{"active", gpu.nvlink->active},
                   {"inactive", gpu.nvlink->inactive},
                   {"to_switches", gpu.nvlink->to_switches},
                   {"peers", gpu.nvlink->peers}};
    put(j["nvlink"], "bytes_per_second", gpu.nvlink->bytes_per_second);
  }
  j["processes"] = Json::array();
  for (const GpuProcess& p : gpu.processes) {
    Json process{{"pid", p.pid}};
    if (!p.name.empty()) process["name"] = p.name;
    put(process, "memory_bytes", p.memory_bytes);
    j["processes"].push_back(process);
  }
  put_unread(j, gpu.unread);
  return j;
}

}  // namespace

Json to_json(const GpusFacts& facts) {
  Json j{{"present", facts.presence.any()}, {"pci_devices", facts.presence.pci_devices}};
  put(j, "driver", facts.driver);
  if (!facts.driver_problem.empty()) j["driver_problem"] = facts.driver_problem;
  put(j, "cuda", facts.cuda);
  j["built_architectures"] = facts.built_architectures;
  put(j, "cuda_visible_devices", facts.visible);
  j["gpus"] = Json::array();
  for (const GpuFacts& gpu : facts.gpus) j["gpus"].push_back(json_of(gpu));
  j["pairs"] = Json::array();
  for (const GpuPairFacts& pair : facts.pairs) {
    Json p{{"first", pair.first}, {"second", pair.second}, {"nvlinks", pair.nvlinks}};
    put(p, "path", pair.path);
    put(p, "peer_access", pair.peer_access);
    j["pairs"].push_back(p);
  }
  for (const LostGpu& gpu : facts.lost)
    j["lost"].push_back({{"index", gpu.index}, {"why", gpu.why}});
  if (facts.links) j["links"] = facts::to_json(*facts.links);
  put_unread(j, facts.unread);
  return j;
}

}  // namespace trainx::doctor
