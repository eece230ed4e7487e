#include "core/process.hpp"
#include "facts/cgroup.hpp"
#include "facts/facts.hpp"
#include "facts/gpus.hpp"
#include "facts/host_update_rate.hpp"
#include "facts/links.hpp"
#include "facts/network.hpp"
#include "hardware/support.hpp"
#include <sched.h>
#include <sys/sysinfo.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

namespace trainx::facts {
namespace {

std::int64_t cores_by_affinity() {
  // More cores than a cpu_set_t holds need a larger set; the kernel says so with EINVAL.
  for (int capacity = CPU_SETSIZE; capacity <= (1 << 20); capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(capacity));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    const bool known = set && ::sched_getaffinity(0, size, set) == 0;
    const std::int64_t cores = known ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (known) return std::max<std::int64_t>(cores, 1);
  }
  return 1;
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown CPU";
}

}  // namespace

std::vector<std::string> HardwareFacts::gpu_names() const {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.push_back(gpu.name);
  return names;
}

HardwareFacts detect_hardware() {
  HardwareFacts h;
  h.host = host_name();
  h.cpu = cpu_name();
  const CgroupLimits limits = cgroup_limits();
  h.cpu_cores = cores_by_affinity();
  // A quota of 1.5 cores is used by two threads.
  if (limits.cpus)
    h.cpu_cores = std::clamp<std::int64_t>(std::llround(std::ceil(*limits.cpus)), 1, h.cpu_cores);
  struct sysinfo info {};
  if (::sysinfo(&info) == 0)
    h.memory_bytes = static_cast<std::int64_t>(info.totalram) *
                     static_cast<std::int64_t>(info.mem_unit);
  if (limits.memory_bytes) h.memory_bytes = std::min(h.memory_bytes, *limits.memory_bytes);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");  // set to nothing: none
  if (!visible || (*visible && std::string_view(visible) != "-1")) h.gpus = visible_gpus();
  h.peers_are_off = environment_variable("NCCL_P2P_DISABLE") == "1";
  h.has_cuda_parts = !hardware::built_architectures().empty();
  h.host_update_bytes_per_s = remembered_host_update_rate(h.cpu_cores);
  if (const auto network = remembered_network(h.host, h.gpu_names()))
    h.network = facts_of(*network);
  if (const auto links = h.gpus.empty() ? std::nullopt : remembered_links(h.gpu_names())) {
    if (links->sum)
      h.link_bytes_per_s = links->sum->bytes_per_second,
      h.link_latency_s = links->sum->latency_seconds;
    for (const HostLinkRate& host : links->hosts) {
      const double slower = std::min(host.to_gpu_bytes_per_second, host.to_host_bytes_per_second);
      if (h.host_bytes_per_s <= 0 || slower < h.host_bytes_per_s) h.host_bytes_per_s = slower;
    }
  }
  return h;
}

}  // namespace trainx::facts
