// Which cores each of a host's ranks computes on, where that keeps its memory near.
#pragma once
#include "facts/facts.hpp"
#include "facts/roots.hpp"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainx::facts {

/// Logical cores by the kernel's numbers, each once.
using Cores = std::vector<int>;

struct CoreTopology {
  Cores online;
  // NUMA nodes that have cores, by number. Threads of one core stand beside each other.
  std::vector<Cores> nodes;
  std::map<std::string, Cores> near_gpu;  // by PCI address, in the order of its node
};

struct CoreBinding {
  std::vector<Cores> of_rank;  // empty: ranks are not bound
  std::string why_not;         // as the rest of a sentence
};

/// What the kernel tells below `roots.sys`; what it does not tell is empty.
CoreTopology read_core_topology(const Roots& roots, const std::vector<std::string>& gpus);
/// That this process may use, by its affinity and its cpuset.
Cores allowed_cores(const Roots& roots = {});

/// Ranks that compute on CPUs get whole NUMA nodes, which ranks of a node share: a rank beside
/// another program's busy process can then move. Ranks of GPUs get an equal part of the cores near
/// their GPU. `gpus`: each rank's PCI address; empty: they compute on CPUs. Nobody is bound where
/// `allowed` is less than the machine, because a launcher has bound the ranks already, or where a
/// rank would get fewer cores than its share of all.
CoreBinding bind_ranks(const CoreTopology& topology, const Cores& allowed, std::int64_t ranks,
                       const std::vector<std::string>& gpus);

/// PCI addresses of the GPUs that CUDA shows, in its order. `visible`: CUDA_VISIBLE_DEVICES. Empty
/// where they are not known: names that are no numbers, or GPUs of several kinds, which CUDA orders
/// by speed.
std::vector<std::string> visible_addresses(const std::vector<Gpu>& gpus,
                                           const std::optional<std::string>& visible);

/// Of this host's ranks, each with the GPU of its place. `gpus`: that the driver shows; empty: the
/// ranks compute on CPUs. Nobody is bound where OpenMP's variables bind threads, or where it is not
/// known which GPU is whose.
CoreBinding binding_of_host(std::int64_t ranks, const std::vector<Gpu>& gpus,
                            const Roots& roots = {});

/// As the kernel lists cores: "0-3,8".
std::string to_list(Cores cores);
/// Of such a list, in its order; empty where it is none.
Cores cores_in_list(const std::string& list);

}  // namespace trainx::facts
