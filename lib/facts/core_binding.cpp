#include "facts/core_binding.hpp"
#include "core/number.hpp"
#include "core/process.hpp"
#include "facts/unread.hpp"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace trainx::facts {
namespace {

namespace fs = std::filesystem;

constexpr int most_cores = 1 << 16;

Cores list_in(const std::string& path) {
  Unread unread;  // no such file: no such cores
  return cores_in_list(text_of(path, "cores", unread).value_or(""));
}

/// Threads of one core beside each other, so that neighbours in the list share caches.
Cores with_siblings_together(const Cores& cores, const std::string& sys) {
  Cores ordered;
  for (const int core : cores) {
    if (std::ranges::find(ordered, core) != ordered.end()) continue;
    Cores siblings = list_in(sys + "/devices/system/cpu/cpu" + std::to_string(core) +
                             "/topology/thread_siblings_list");
    if (std::ranges::find(siblings, core) == siblings.end()) siblings = {core};
    for (const int sibling : siblings)
      if (std::ranges::find(cores, sibling) != cores.end()) ordered.push_back(sibling);
  }
  return ordered;
}

std::vector<Cores> read_nodes(const std::string& sys) {
  std::map<std::int64_t, Cores> nodes;  // by number
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(sys + "/devices/system/node", none)) {
    const std::string name = entry.path().filename().string();
    const auto number = name.starts_with("node") ? parse_integer(name.substr(4)) : std::nullopt;
    if (!number) continue;
    if (Cores cores = list_in(entry.path().string() + "/cpulist"); !cores.empty())
      nodes[*number] = with_siblings_together(cores, sys);
  }
  std::vector<Cores> all;
  for (auto& [number, cores] : nodes) all.push_back(std::move(cores));
  return all;
}

Cores sorted(Cores cores) {
  std::ranges::sort(cores);
  return cores;
}

CoreBinding unbound(std::string why) { return {{}, std::move(why)}; }

/// Whole nodes: as many ranks on each, or as many nodes for each rank.
CoreBinding bind_to_nodes(const std::vector<Cores>& nodes, std::int64_t ranks) {
  const std::int64_t n = std::ssize(nodes);
  if (ranks % n != 0 && n % ranks != 0)
    return unbound(std::to_string(ranks) + " ranks do not divide among " + std::to_string(n) +
                   " NUMA nodes");
  CoreBinding binding;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Cores cores;
    const std::int64_t first = rank * n / ranks, end = std::max(first + 1, (rank + 1) * n / ranks);
    for (std::int64_t node = first; node < end; ++node)
      cores.insert(cores.end(), nodes[static_cast<std::size_t>(node)].begin(),
                   nodes[static_cast<std::size_t>(node)].end());
    binding.of_rank.push_back(sorted(cores));
  }
  return binding;
}

/// Ranks with the same cores near their GPUs share them out.
CoreBinding bind_near_gpus(const CoreTopology& topology, const std::vector<std::string>& gpus) {
  CoreBinding binding;
  std::map<Cores, std::vector<std::size_t>> groups;  // ranks by the cores near their GPU
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const auto cores = topology.near_gpu.find(gpus[rank]);
    if (cores == topology.near_gpu.end() || cores->second.empty() ||
        cores->second.size() >= topology.online.size())
      return unbound("the kernel does not tell which cores are near GPU " + gpus[rank]);
    groups[cores->second].push_back(rank);
  }
  binding.of_rank.resize(gpus.size());
  for (const auto& [cores, members] : groups)
    for (std::size_t place = 0; place < members.size(); ++place) {
      const auto at = [&](std::size_t k) {
        return cores.begin() + static_cast<std::ptrdiff_t>(k * cores.size() / members.size());
      };
      binding.of_rank[members[place]] = sorted(Cores(at(place), at(place + 1)));
    }
  return binding;
}

/// Of a rank's cores; one that n ranks have counts 1 / n for each.
double share_of(const CoreBinding& binding, const Cores& cores) {
  double share = 0;
  for (const int core : cores)
    share += 1 /
             static_cast<double>(std::ranges::count_if(binding.of_rank, [&](const Cores& others) {
               return std::ranges::binary_search(others, core);
             }));
  return share;
}

}  // namespace

Cores cores_in_list(const std::string& list) {
  Cores cores;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    const auto dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash)),
               last = dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= most_cores) return {};
    for (std::int64_t core = *first; core <= *last; ++core) cores.push_back(static_cast<int>(core));
  }
  return cores;
}

std::string to_list(Cores cores) {
  std::ranges::sort(cores);
  std::string list;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < cores.size() && cores[i + 1] == cores[i] + 1) ++i;
    list += (list.empty() ? "" : ",") + std::to_string(cores[first]);
    if (i > first) list += "-" + std::to_string(cores[i]);
  }
  return list;
}

CoreTopology read_core_topology(const Roots& roots, const std::vector<std::string>& gpus) {
  CoreTopology topology;
  topology.online = sorted(list_in(roots.sys + "/devices/system/cpu/online"));
  topology.nodes = read_nodes(roots.sys);
  for (const std::string& gpu : gpus)
    topology.near_gpu[gpu] = with_siblings_together(
        list_in(roots.sys + "/bus/pci/devices/" + gpu + "/local_cpulist"), roots.sys);
  return topology;
}

Cores allowed_cores(const Roots& roots) {
  Unread unread;
  std::istringstream status(text_of(roots.proc + "/self/status", "cores", unread).value_or(""));
  constexpr std::string_view key = "Cpus_allowed_list:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    const auto list = line.find_first_not_of(" \t", key.size());
    return list == std::string::npos ? Cores() : sorted(cores_in_list(line.substr(list)));
  }
  return {};
}

CoreBinding bind_ranks(const CoreTopology& topology, const Cores& allowed, std::int64_t ranks,
                       const std::vector<std::string>& gpus) {
  if (ranks < 2) return unbound("there is one rank on this host");
  if (topology.online.empty() || topology.nodes.empty())
    return unbound("the kernel tells nothing of this host's cores");
  if (sorted(allowed) != topology.online)
    return unbound("this process may use " + std::to_string(allowed.size()) + " of " +
                   std::to_string(topology.online.size()) +
                   " cores: its launcher or a cpuset has chosen them");
  if (topology.nodes.size() < 2) return unbound("there is one NUMA node");
  CoreBinding binding = gpus.empty() ? bind_to_nodes(topology.nodes, ranks)
                                     : bind_near_gpus(topology, gpus);
  const std::int64_t share = std::ssize(topology.online) / ranks;
  constexpr double rounding = 1e-6;
  for (const Cores& cores : binding.of_rank)
    if (share_of(binding, cores) < static_cast<double>(share) - rounding)
      return unbound("cores near some ranks are fewer than their share, which is " +
                     std::to_string(share));
  return binding;
}

std::vector<std::string> visible_addresses(const std::vector<Gpu>& gpus,
                                           const std::optional<std::string>& visible) {
  std::vector<std::string> addresses;
  for (const Gpu& gpu : gpus) {
    if (gpu.name != gpus.front().name || gpu.address.empty()) return {};
    addresses.push_back(gpu.address);
  }
  if (!visible) return addresses;
  std::vector<std::string> shown;
  std::istringstream in(*visible);
  for (std::string name; std::getline(in, name, ',');) {
    const auto index = parse_integer(name);
    if (!index || *index < 0 || *index >= std::ssize(addresses)) return {};
    shown.push_back(addresses[static_cast<std::size_t>(*index)]);
  }
  return shown;
}

CoreBinding binding_of_host(std::int64_t ranks, const std::vector<Gpu>& gpus, const Roots& roots) {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (!environment_variable(name).empty()) return unbound(std::string(name) + " is set");
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> addresses =
      visible_addresses(gpus, visible ? std::optional<std::string>(visible) : std::nullopt);
  if (!gpus.empty() && std::ssize(addresses) < ranks)
    return unbound("it is not known which GPU each rank computes on");
  addresses.resize(gpus.empty() ? 0 : static_cast<std::size_t>(ranks));
  return bind_ranks(read_core_topology(roots, addresses), allowed_cores(roots), ranks, addresses);
}

}  // namespace trainx::facts
