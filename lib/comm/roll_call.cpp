#include "comm/roll_call.hpp"
#include <algorithm>
#include <cstdio>
#include <set>

namespace trainx::comm {
namespace {

Failure refuse(const std::string& sentence) { return {ExitCode::invalid_recipe, sentence}; }

/// The first name of a value that the two do not share; empty: none.
std::string differing_key(const Identity& a, const Identity& b) {
  std::set<std::string> keys;
  for (const auto& [key, hash] : a.equal_on_all) keys.insert(key);
  for (const auto& [key, hash] : b.equal_on_all) keys.insert(key);
  for (const std::string& key : keys) {
    const auto in_a = a.equal_on_all.find(key), in_b = b.equal_on_all.find(key);
    if (in_a == a.equal_on_all.end() || in_b == b.equal_on_all.end() ||
        in_a->second != in_b->second)
      return key;
  }
  return {};
}

std::string plain_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

}  // namespace

std::optional<Failure> difference(std::vector<Identity> arrived) {
  std::stable_sort(arrived.begin(), arrived.end(),
                   [](const Identity& a, const Identity& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < arrived.size(); ++i) {
    const Identity &a = arrived[i - 1], &b = arrived[i];
    if (a.rank == b.rank)
      return refuse("two processes say that they are rank " + std::to_string(a.rank) + ": pid " +
                    std::to_string(a.pid) + " on host " + a.host + " and pid " +
                    std::to_string(b.pid) + " on host " + b.host +
                    "; give each process of the run a rank of its own");
  }
  for (const Identity& i : arrived) {
    const Identity& first = arrived.front();
    if (i.world_size != first.world_size)
      return refuse(i.name() + " is of a run of " + std::to_string(i.world_size) + " ranks, " +
                    first.name() + " of one of " + std::to_string(first.world_size) +
                    "; start all of them for the same number of ranks");
    if (const std::string key = differing_key(first, i); !key.empty())
      return refuse(i.name() + " has another " + key + " than " + first.name() +
                    "; start the same trainx with the same recipe and options on all");
  }
  for (std::size_t i = 0; i < arrived.size(); ++i)
    for (std::size_t k = i + 1; k < arrived.size(); ++k) {
      const Identity &a = arrived[i], &b = arrived[k];
      if (!a.device.empty() && a.device == b.device && a.boot_id == b.boot_id)
        return refuse("ranks " + std::to_string(a.rank) + " and " + std::to_string(b.rank) +
                      " are both to compute on " + a.device + " of host " + a.host +
                      "; give each rank a device of its own");
    }
  return std::nullopt;
}

std::string absent_ranks(const std::vector<Identity>& arrived, int world_size) {
  std::set<int> there;
  for (const Identity& i : arrived) there.insert(i.rank);
  std::string ranks;
  int count = 0;
  for (int r = 0; r < world_size; ++r)
    if (!there.contains(r)) ranks += (count++ ? ", " : "") + std::to_string(r);
  return (count == 1 ? "rank " : "ranks ") + ranks;
}

Failure missing(const std::vector<Identity>& arrived, int world_size, double seconds,
                const std::string& where, const std::string& refused) {
  std::set<int> there;
  for (const Identity& i : arrived) there.insert(i.rank);
  const bool one = there.size() + 1 == static_cast<std::size_t>(world_size);
  return {ExitCode::unavailable,
          absent_ranks(arrived, world_size) + " of " + std::to_string(world_size) +
              " did not arrive at " + where + " within " + plain_number(seconds) +
              " s; see the output of " + (one ? "that process" : "those processes") +
              ", and whether that address is reached from there" +
              (refused.empty() ? ""
                               : "; a process at " + refused +
                                     " came with a wrong proof: see that the secret "
                                     "file is the same on all hosts")};
}

}  // namespace trainx::comm
