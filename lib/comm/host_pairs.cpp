#include "comm/host_pairs.hpp"
#include <algorithm>
#include <map>

namespace trainx::comm {

HostRanks ranks_by_host(const std::vector<std::string>& host) {
  HostRanks hosts;
  std::map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < host.size(); ++rank) {
    const auto [place, is_new] = places.try_emplace(host[rank], hosts.size());
    if (is_new) hosts.emplace_back();
    hosts[place->second].push_back(static_cast<int>(rank));
  }
  return hosts;
}

// The circle method: one host stays, the others move on by one place after each round. An odd
// number gets a host that is not there, whose partner pauses.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int hosts) {
  std::vector<std::vector<std::pair<int, int>>> rounds;
  const int places = hosts + hosts % 2;
  for (int round = 0; round + 1 < places; ++round) {
    const auto at = [&](int place) {
      return place == 0 ? 0 : 1 + (place - 1 + round) % (places - 1);
    };
    auto& pairs = rounds.emplace_back();
    for (int place = 0; place < places / 2; ++place) {
      const int one = at(place), other = at(places - 1 - place);
      if (std::max(one, other) < hosts)
        pairs.emplace_back(std::min(one, other), std::max(one, other));
    }
  }
  return rounds;
}

}  // namespace trainx::comm
