// Ranks by host, and the order in which hosts measure their links in pairs.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace trainx::comm {

/// Ranks of each host, ascending; hosts in the order of their first rank.
using HostRanks = std::vector<std::vector<int>>;

/// `host`: of each rank, what tells its host apart.
HostRanks ranks_by_host(const std::vector<std::string>& host);

/// Every two of `hosts` once, in rounds in each of which a host is in one pair at most.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int hosts);

}  // namespace trainx::comm
