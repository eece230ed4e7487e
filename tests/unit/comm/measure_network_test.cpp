#include "comm/interface.hpp"
#include "comm/measure_network.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include <cstdlib>
#include <algorithm>
#include <cmath>
#include <set>

namespace measure_network_test {

using namespace trainx;
using namespace trainx::comm;

namespace {

bool is_rate(double x) { return x > 0 && std::isfinite(x); }

void require(bool holds, const std::string& what) {
  if (!holds) throw InternalError(what);
}

}  // namespace

TEST_CASE("ranks are grouped by host, hosts in the order of their first rank") {
  CHECK(ranks_by_host({"b", "a", "b", "c", "a"}) == HostRanks{{0, 2}, {1, 4}, {3}});
  CHECK(ranks_by_host({}).empty());
}

TEST_CASE("every two hosts are a pair once, and a host is in one pair of a round at most") {
  for (int hosts = 0; hosts <= 9; ++hosts) {
    CAPTURE(hosts);
    std::set<std::pair<int, int>> all;
    for (const auto& round : rounds_of_pairs(hosts)) {
      std::set<int> busy;
      for (const auto& [first, second] : round) {
        CHECK(first < second);
        CHECK(second < hosts);
        CHECK(all.emplace(first, second).second);
        CHECK(busy.insert(first).second);
        CHECK(busy.insert(second).second);
      }
    }
    CHECK(std::ssize(all) == hosts * (hosts - 1) / 2);
    CHECK(std::ssize(rounds_of_pairs(hosts)) <= hosts);
  }
}

TEST_CASE("three hosts of two ranks measure each pair both ways, and sums; all hear the same") {
  ForkedRanks ranks(6, [&](const Membership& m) {
    ControlOptions options;
    options.join_seconds = options.hang_seconds = 60;
    const auto control = Control::join(m, options);
    const auto all = make_communicator(*control, "TCP");
    const HostRanks hosts{{0, 1}, {2, 3}, {4, 5}};
    const std::vector<HostPairRate> pairs = measure_pairs(*control, *all, hosts);
    require(pairs.size() == 6, "three pairs, both ways");
    std::string told;
    for (const HostPairRate& p : pairs) {
      require(is_rate(p.bytes_per_second) && is_rate(p.round_trip_seconds), "a rate");
      told += std::to_string(p.from) + std::to_string(p.to) + " " +
              std::to_string(p.bytes_per_second) + " " + std::to_string(p.round_trip_seconds) + ";";
    }
    std::vector<float> data(1 << 19, 1);
    const NetworkSum sum = measure_sum(*control, 6, 2 << 20, [&](std::int64_t bytes) {
      require(bytes <= (2 << 20) && bytes % 4 == 0, "bytes to sum");
      all->all_reduce(reinterpret_cast<std::byte*>(data.data()), bytes / 4, DType::f32);
    });
    require(sum.ranks == 6 && is_rate(sum.bytes_per_second) && is_rate(sum.latency_seconds), "sum");
    told += std::to_string(sum.bytes_per_second) + " " + std::to_string(sum.latency_seconds);
    control->leave();
    return told;
  });
  std::set<std::string> told;
  for (const RankEnd& e : ranks.wait(60)) {
    INFO(e.said);
    CHECK(e.code == 0);
    told.insert(e.said);
  }
  CHECK(told.size() == 1);
}

TEST_CASE("a rank that dies while links are measured ends the others") {
  ForkedRanks ranks(4, [&](const Membership& m) {
    ControlOptions options;
    options.join_seconds = options.hang_seconds = 60;
    const auto control = Control::join(m, options);
    const auto all = make_communicator(*control, "TCP");
    if (m.rank == 2) std::_Exit(9);
    measure_pairs(*control, *all, {{0, 1}, {2, 3}});
    return std::string();
  });
  const std::vector<RankEnd> ends = ranks.wait(60);
  for (const int rank : {0, 1, 3}) {
    INFO(ends[static_cast<std::size_t>(rank)].said);
    CHECK(ends[static_cast<std::size_t>(rank)].said.starts_with("82"));
    CHECK(ends[static_cast<std::size_t>(rank)].said.find("rank 2") != std::string::npos);
  }
}

TEST_CASE("an address has the interface that bears it, or none") {
  CHECK(interface_of("127.0.0.1") == "lo");
  CHECK(interface_of("203.0.113.7").empty());
  CHECK(interface_of("no.such.host.invalid").empty());
}

}  // namespace measure_network_test
