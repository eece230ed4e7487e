// The section on GPUs: what NVML tells of each, and of each pair.
#pragma once
#include "core/link_rates.hpp"
#include "core/memory_errors.hpp"
#include "core/power_reading.hpp"
#include "facts/finding.hpp"
#include "doctor/gpu_presence.hpp"
#include "facts/lines.hpp"
#include "facts/nvml_links.hpp"
#include "facts/section_json.hpp"
#include <cstdint>

namespace trainx::doctor {

using namespace facts;

struct GpuProcess {
  std::int64_t pid = 0;
  std::string name;  // empty where /proc does not show it (another container's)
  std::optional<std::int64_t> memory_bytes;
};

struct PcieFacts {
  // now, and the most that GPU and slot do together
  std::optional<std::int64_t> generation, most_generation, width, most_width;
};

struct GpuFacts {
  std::string name;
  std::optional<std::string> address;  // PCI: "0000:17:00.0"
  std::optional<std::int64_t> memory_bytes, memory_used_bytes;
  std::optional<std::int64_t> clock_mhz, most_clock_mhz;  // of the multiprocessors
  std::optional<double> watts, most_watts;
  std::optional<std::int64_t> celsius;
  std::optional<std::int64_t> performance_state;  // 0 is full speed, 8 and more idle
  std::vector<ClockLimit> clock_limits;           // what holds the clock down now
  std::optional<bool> ecc;
  MemoryErrors memory_errors;
  PcieFacts pcie;
  std::optional<std::string> compute_mode;  // default, exclusive process, prohibited
  std::optional<bool> mig;
  std::optional<std::int64_t> compute_capability;  // 90: 9.0
  std::optional<std::string> rates;                // of plans: measured on such a GPU, or estimated
  std::optional<std::int64_t> numa_node;
  std::optional<NvlinkFacts> nvlink;  // empty: it has none
  std::vector<GpuProcess> processes;
  Unread unread;
  std::optional<bool> bf16() const {
    return compute_capability ? std::optional(*compute_capability >= 80) : std::nullopt;
  }
  std::optional<bool> fp8() const {
    return compute_capability ? std::optional(*compute_capability >= 89) : std::nullopt;
  }
};

struct GpuPairFacts {
  std::size_t first = 0, second = 0;  // places in GpusFacts::gpus
  // directly, or through switches as many as both have
  std::int64_t nvlinks = 0;
  // over PCIe, as NVML's common ancestor: "one board", "one switch", ...
  std::optional<std::string> path;
  std::optional<std::string> peer_access;  // "ok", else why not
};

/// One that the driver shows and that cannot be used.
struct LostGpu {
  std::int64_t index = 0;
  std::string why;  // NVML's words
};

struct GpusFacts {
  GpuPresence presence;
  std::string driver_problem;         // why NVML tells nothing; empty: it does
  std::optional<std::string> driver;  // version
  // the newest that the driver runs: 13000 is 13.0
  std::optional<std::int64_t> cuda;
  std::string built_cuda;              // that trainx was built with; empty: without
  std::string built_architectures;     // hardware::built_architectures()
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, where it is set
  std::vector<GpuFacts> gpus;
  std::vector<GpuPairFacts> pairs;
  std::vector<LostGpu> lost;
  std::optional<LinkRates> links;  // measured
  Unread unread;
};

GpusFacts detect_gpus(const Roots& roots, const std::string& built_cuda);
/// Has the worker measure the links of the GPUs that were found, and keeps the rates for plans.
/// Nothing where there are no GPUs or trainx was built without CUDA.
void measure_links(const std::string& worker, GpusFacts& facts);
Findings findings_of(const GpusFacts& facts);
Json to_json(const GpusFacts& facts);
Lines describe(const GpusFacts& facts);

}  // namespace trainx::doctor
