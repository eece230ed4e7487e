#include "facts/nccl_log.hpp"
#include "facts/network.hpp"
#include "support/catch.hpp"
#include "support/made_up_tree.hpp"
#include <nlohmann/json.hpp>
#include <cstdlib>

namespace network_test {

using namespace trainx;
using namespace trainx::facts;

namespace {

NetworkRates between(const std::vector<std::string>& hosts, const std::vector<std::string>& gpus,
                     double rate, int ranks = 2) {
  NetworkRates rates{.transport = gpus.empty() ? "TCP" : "NCCL", .nccl = "NET/IB : Using mlx5_0"};
  for (const std::string& host : hosts)
    rates.hosts.push_back({host, host + ".example", "eth0", ranks, gpus});
  rates.pairs = {{0, 1, rate, 1e-4}, {1, 0, 2 * rate, 1e-4}};
  rates.all = {4, 3 * rate, 2e-4};
  rates.across = NetworkSum{2, rate, 3e-4};
  rates.within = NetworkSum{2, 4 * rate, 5e-6};
  return rates;
}

/// A cache of its own.
struct Cache : MadeUpTree {
  Cache() { ::setenv("XDG_CACHE_HOME", root.c_str(), 1); }
  ~Cache() { ::unsetenv("XDG_CACHE_HOME"); }
};

double rate_of(const std::string& host, const std::vector<std::string>& gpus) {
  const auto rates = remembered_network(host, gpus);
  return rates ? rates->pairs.at(0).bytes_per_second : 0;
}

}  // namespace

TEST_CASE("a measured network is the same as JSON and back") {
  const NetworkRates rates = between({"a", "b"}, {"GPU"}, 1e9);
  const auto j = to_json(rates);
  CHECK(to_json(network_rates_from_json(j)) == j);
  CHECK(j.at("pairs").at(1).at("bytes_per_second") == 2e9);
  CHECK(j.at("across").at("latency_seconds") == 3e-4);
  NetworkRates few = rates;
  few.across.reset(), few.within.reset(), few.nccl.clear();
  CHECK_FALSE(to_json(few).contains("across"));
  CHECK_FALSE(network_rates_from_json(to_json(few)).within);
}

TEST_CASE("each host that took part remembers the newest, by its name and GPUs") {
  const Cache cache;
  CHECK(rate_of("a", {}) == 0);
  remember_network(between({"a", "b"}, {}, 1));
  remember_network(between({"a", "b"}, {"GPU"}, 2));
  remember_network(between({"c", "d"}, {}, 3));
  CHECK(rate_of("a", {}) == 1);
  CHECK(rate_of("b", {}) == 1);
  CHECK(rate_of("a", {"GPU"}) == 2);
  CHECK(rate_of("a", {"GPU", "GPU", "GPU"}) == 2);
  CHECK(rate_of("a", {"other"}) == 0);
  CHECK(rate_of("d", {}) == 3);
  CHECK(rate_of("e", {}) == 0);
  remember_network(between({"b", "c"}, {}, 4));
  CHECK(rate_of("b", {}) == 4);
  CHECK(rate_of("a", {}) == 1);
  remember_network(between({"a", "b"}, {}, 5));
  CHECK(rate_of("b", {}) == 5);
}

TEST_CASE("a cache that cannot be read is an empty one") {
  const Cache cache;
  for (const char* text : {"", "{", "[]", "{}", "[{}]", "[1]", R"([{"transport": 7}])"}) {
    cache.write("trainx/network.json", text);
    CHECK(rate_of("a", {}) == 0);
    remember_network(between({"a", "b"}, {}, 1));
    CHECK(rate_of("a", {}) == 1);
  }
}

TEST_CASE("plans take what a host sends to the next one, of hosts with as many ranks each") {
  NetworkRates rates = between({"a", "b"}, {}, 1e9, 4);
  const NetworkFacts facts = facts_of(rates);
  CHECK(facts.hosts == 2);
  CHECK(facts.ranks_per_host == 4);
  CHECK(facts.bytes_per_s == 4e9);
  CHECK(facts.latency_s == 3e-4);
  CHECK(facts.link_bytes_per_s == 4e9);
  rates.within.reset();
  CHECK(facts_of(rates).link_bytes_per_s == 0);
  rates.across.reset();
  CHECK(facts_of(rates).hosts == 0);
}

TEST_CASE("NCCL's network is read from its log") {
  CHECK(network_in_nccl_log("a:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
                            "a:1:2 [0] NCCL INFO NET/IB : No device found.\n"
                            "a:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> \n"
                            "a:1:2 [0] NCCL INFO Using network Socket\n") ==
        "NET/Socket : Using [0]eth0:10.0.0.1<0>");
  CHECK(network_in_nccl_log("NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>") ==
        "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>");
  CHECK(network_in_nccl_log("").empty());
  CHECK(network_in_nccl_log("NET/IB : No device found.\nNET/").empty());
}

}  // namespace network_test
