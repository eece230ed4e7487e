#include "core/units.hpp"
#include "doctor/gpus.hpp"
#include "hardware/support.hpp"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace trainx::doctor {

using namespace facts;
namespace {

/// "GPU 0 (NVIDIA H200)".
std::string label(const GpusFacts& facts, std::size_t i) {
  return "GPU " + std::to_string(i) + " (" + facts.gpus[i].name + ")";
}

std::string cuda_words(std::int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void look_at_driver(const GpusFacts& facts, Findings& found) {
  if (!facts.driver_problem.empty()) {
    if (facts.presence.any())
      found.push_back({Finding::Weight::error,
                       "this machine has a GPU (" + facts.presence.signs() +
                           ") whose driver cannot be used: " + facts.driver_problem,
                       facts.presence.driver_loaded
                           ? "install the driver's libraries of the loaded version, or in a "
                             "container start it with --gpus all"
                           : "install NVIDIA's driver (apt install nvidia-driver) and restart, or "
                             "in a container start it with --gpus all"});
    return;
  }
  if (facts.gpus.empty()) {
    if (facts.presence.any())
      found.push_back(
          {Finding::Weight::error,
           "the driver shows no GPU though there is " + facts.presence.signs(),
           "look for its reason with dmesg | grep NVRM; in a container start it with --gpus all"});
    return;
  }
  const std::string built_major = facts.built_cuda.substr(0, facts.built_cuda.find('.'));
  if (facts.built_cuda.empty())
    found.push_back({.problem = "this trainx was built without CUDA and leaves the GPUs alone",
                     .remedy = "build it where nvcc of CUDA 13 is (/usr/local/cuda/bin on PATH)"});
  else if (facts.cuda && *facts.cuda / 1000 < std::stoll(built_major))
    found.push_back({Finding::Weight::error,
                     "the driver" + (facts.driver ? " " + *facts.driver : "") + " runs CUDA " +
                         cuda_words(*facts.cuda) + ", trainx was built with " + facts.built_cuda,
                     "install a driver for CUDA " + built_major + " or later"});
  if (facts.visible && (facts.visible->empty() || *facts.visible == "-1"))
    found.push_back(
        {.problem = "CUDA_VISIBLE_DEVICES hides all GPUs", .remedy = "unset it to train on them"});
  if (std::ranges::all_of(facts.gpus,
                          [](const GpuFacts& gpu) { return gpu.compute_mode == "prohibited"; }))
    found.push_back({Finding::Weight::error, "the compute mode of all GPUs prohibits computing",
                     "nvidia-smi -c DEFAULT (as root)"});
}

/// GPUs that the kernels of this build do not run on, one of each kind.
void look_at_support(const GpusFacts& facts, Findings& found) {
  std::set<std::string> told;
  for (const GpuFacts& gpu : facts.gpus) {
    const auto no = hardware::why_unsupported(
        gpu.name, static_cast<int>(gpu.compute_capability.value_or(0)), facts.built_architectures);
    if (no && told.insert(no->problem).second)
      found.push_back({Finding::Weight::error, no->problem, no->remedy});
  }
}

void look_at_lost(const GpusFacts& facts, Findings& found) {
  for (const LostGpu& gpu : facts.lost)
    found.push_back(
        {.problem = "GPU " + std::to_string(gpu.index) + " cannot be used: " + gpu.why,
         .remedy = "look for its reason with dmesg | grep Xid, and restart the machine; "
                   "have the GPU replaced if it is lost again"});
}

void look_at_clock(const GpuFacts& gpu, const std::string& name, Findings& found) {
  for (const ClockLimit limit : gpu.clock_limits) {
    // the rule under full load; asked for
    if (limit == ClockLimit::power_limit || limit == ClockLimit::sync_boost) continue;
    const std::string now = gpu.clock_mhz && gpu.most_clock_mhz
                                ? " at " + std::to_string(*gpu.clock_mhz) + " of " +
                                      std::to_string(*gpu.most_clock_mhz) + " MHz"
                                : "";
    const std::string heat = gpu.celsius ? " (" + std::to_string(*gpu.celsius) + " degrees Celsius)"
                                         : "";
    std::string remedy;
    switch (limit) {
      case ClockLimit::application_clocks:
        remedy = "nvidia-smi -rac and -rgc give the clock back (as root)";
        break;
      case ClockLimit::power_brake:
      case ClockLimit::hardware_slowdown:
        remedy = "look after the machine's power supplies and their cables";
        break;
      default: remedy = "look after fans, filters and the room's air";
    }
    found.push_back({.problem = "the clock of " + name + " is held down" + now +
                                " by: " + std::string(name_of(limit)) +
                                (limit == ClockLimit::application_clocks ? "" : heat),
                     .remedy = remedy});
  }
}

void look_at_memory(const GpuFacts& gpu, const std::string& name, Findings& found) {
  for (const MemoryAdvice& advice : advice_on(gpu.memory_errors, name))
    found.push_back({.problem = advice.problem, .remedy = advice.remedy});
}

void look_at_link(const GpuFacts& gpu, const std::string& name, Findings& found) {
  const PcieFacts& p = gpu.pcie;
  // its link then rests at a lower generation
  const bool idle = gpu.performance_state.value_or(0) >= 5;
  const bool narrow = p.width && p.most_width && *p.width < *p.most_width;
  const bool slow = p.generation && p.most_generation && *p.generation < *p.most_generation &&
                    !idle;
  if (!narrow && !slow) return;
  std::string now, most;
  if (p.generation && p.most_generation)
    now += "generation " + std::to_string(*p.generation),
        most += "generation " + std::to_string(*p.most_generation);
  if (p.width && p.most_width)
    now += (now.empty() ? "x" : " x") + std::to_string(*p.width),
        most += (most.empty() ? "x" : " x") + std::to_string(*p.most_width);
  found.push_back(
      {.problem = "the PCIe link of " + name + " runs at " + now + " where it can do " + most,
       .remedy =
           narrow
               ? "seat the card and its riser anew, and look whether another card shares its lanes"
               : "look again under load; if it stays, set the slot's speed in the firmware's "
                 "set-up or seat the card anew"});
}

void look_at_sharing(const GpuFacts& gpu, const std::string& name, Findings& found) {
  if (!gpu.processes.empty()) {
    std::vector<std::string> users;
    for (const GpuProcess& p : gpu.processes)
      users.push_back(std::to_string(p.pid) + (p.name.empty() ? "" : " (" + p.name + ")") +
                      (p.memory_bytes ? " with " + human_bytes(*p.memory_bytes) : ""));
    found.push_back(
        {.problem = name + " is in use by " + (users.size() == 1 ? "process " : "processes ") +
                    joined(users),
         .remedy = "end it, wait for it, or leave this GPU out (CUDA_VISIBLE_DEVICES)"});
  }
  if (gpu.mig.value_or(false))
    found.push_back({.problem = name + " is cut into slices (MIG), of which a process sees one and "
                                       "between which ranks cannot sum",
                     .remedy = "nvidia-smi -mig 0 (as root) makes it whole"});
}

/// GPUs of a kind that have fewer links than another of the kind.
void look_at_nvlink(const GpusFacts& facts, Findings& found) {
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const auto& links = facts.gpus[i].nvlink;
    if (!links) continue;
    std::int64_t most = 0;
    for (const GpuFacts& other : facts.gpus)
      if (other.name == facts.gpus[i].name && other.nvlink)
        most = std::max(most, other.nvlink->active);
    if (links->active < most)
      found.push_back({.problem = label(facts, i) + " has " +
                                  counted(links->active, "active NVLink") +
                                  ", others of its kind have " + std::to_string(most),
                       .remedy = "look with nvidia-smi nvlink -s, and whether the fabric manager "
                                 "runs (systemctl status nvidia-fabricmanager)"});
  }
}

void look_at_pairs(const GpusFacts& facts, Findings& found) {
  for (const GpuPairFacts& pair : facts.pairs) {
    // 'not with these GPUs' is their kind
    if (!pair.peer_access || (*pair.peer_access != "not with this chipset" &&
                              !pair.peer_access->starts_with("disabled")))
      continue;
    found.push_back(
        {.problem = label(facts, pair.first) + " and " + label(facts, pair.second) +
                    " cannot reach each other's memory: " + *pair.peer_access,
         .remedy = "turn off ACS and the IOMMU in the firmware's set-up, or what disables it among "
                   "the driver's settings; until then sums go through host memory"});
  }
}

/// Bytes per second of one lane and direction after encoding (PCI Express Base Specification); 0: a
/// generation after those known here.
double lane_rate(std::int64_t generation) {
  constexpr double rates[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
  return generation > 0 && generation < static_cast<std::int64_t>(std::size(rates))
             ? rates[generation]
             : 0;
}

std::string gb(double bytes_per_second) {
  return std::to_string(std::llround(bytes_per_second / 1e9)) + " GB/s";
}

constexpr double far_below = 0.4;  // of what a link's kind has: good ones reach 0.75 to 0.9

/// Links that move far less than their kind does.
void look_at_measured(const GpusFacts& facts, Findings& found) {
  if (!facts.links) return;
  const auto place = [&](const std::string& address) {
    return static_cast<std::size_t>(
        std::ranges::find(facts.gpus, std::optional(address), &GpuFacts::address) -
        facts.gpus.begin());
  };
  for (const HostLinkRate& host : facts.links->hosts) {
    const std::size_t i = place(host.gpu);
    if (i == facts.gpus.size()) continue;
    const PcieFacts& p = facts.gpus[i].pcie;
    const double kind = lane_rate(p.most_generation.value_or(0)) *
                        static_cast<double>(p.most_width.value_or(0)),
                 slower = std::min(host.to_gpu_bytes_per_second, host.to_host_bytes_per_second);
    if (kind > 0 && slower < far_below * kind)
      found.push_back({.problem = "copies between the host and " + label(facts, i) + " reach " +
                                  gb(slower) + " of the " + gb(kind) + " that PCIe " +
                                  std::to_string(*p.most_generation) + " x" +
                                  std::to_string(*p.most_width) + " has",
                       .remedy = "look whether something else uses the link or the host's memory, "
                                 "and run on the GPU's own NUMA node (numactl -N)"});
  }
  for (const PairLinkRate& pair : facts.links->pairs) {
    const std::size_t a = place(pair.from), b = place(pair.to);
    if (a == facts.gpus.size() || b == facts.gpus.size() || !facts.gpus[a].nvlink ||
        !facts.gpus[a].nvlink->bytes_per_second)
      continue;
    const auto links = std::ranges::find_if(facts.pairs, [&](const GpuPairFacts& p) {
      return p.first == std::min(a, b) && p.second == std::max(a, b);
    });
    const double kind = links == facts.pairs.end() ? 0
                                                   : static_cast<double>(links->nvlinks) *
                                                         *facts.gpus[a].nvlink->bytes_per_second;
    const double moved = pair.direct_bytes_per_second.value_or(pair.staged_bytes_per_second);
    if (kind > 0 && moved < far_below * kind)
      found.push_back({.problem = "copies from " + label(facts, a) + " to " + label(facts, b) +
                                  " reach " + gb(moved) + " of the " + gb(kind) + " that " +
                                  counted(links->nvlinks, "NVLink") + " have",
                       .remedy = "look with nvidia-smi nvlink -s for links that are down or have "
                                 "errors, and whether another program uses them"});
  }
}

}  // namespace

Findings findings_of(const GpusFacts& facts) {
  Findings found;
  look_at_driver(facts, found);
  look_at_support(facts, found);
  look_at_lost(facts, found);
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const GpuFacts& gpu = facts.gpus[i];
    kinds.insert(gpu.name);
    look_at_clock(gpu, label(facts, i), found);
    look_at_memory(gpu, label(facts, i), found);
    look_at_link(gpu, label(facts, i), found);
    look_at_sharing(gpu, label(facts, i), found);
  }
  look_at_nvlink(facts, found);
  look_at_pairs(facts, found);
  look_at_measured(facts, found);
  if (kinds.size() > 1)
    found.push_back(
        {.problem = "the GPUs are of different kinds, and ranks wait for the slowest: " +
                    joined({kinds.begin(), kinds.end()}),
         .remedy = "choose those of one kind (CUDA_VISIBLE_DEVICES)"});
  return found;
}

}  // namespace trainx::doctor
