#include "doctor/network.hpp"
#include "support/catch.hpp"
#include <algorithm>

namespace network_test {

using namespace trainx;

namespace {

NetworkRates of_hosts(int hosts) {
  NetworkRates rates{.transport = "TCP"};
  for (int h = 0; h < hosts; ++h)
    rates.hosts.push_back({"host" + std::to_string(h), "10.0.0." + std::to_string(h), "eth0", 2});
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to)
      if (from != to) rates.pairs.push_back({from, to, 1.25e9, 9.1e-4});
  rates.all = {2 * hosts, 1e6, 2.5e-5};
  rates.across = NetworkSum{hosts, 2e6, 1.5};
  return rates;
}

std::ptrdiff_t lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("tables name each host, each pair and what was measured, with units") {
  NetworkRates rates = of_hosts(2);
  rates.hosts[1].interface.clear();
  const std::string text = doctor::describe(rates);
  INFO(text);
  for (const char* part : {"host0", "10.0.0.1", "eth0", "host0 - host1", "1.25 GB/s", "910 us",
                           "1 MB/s", "25 us", "2 MB/s", "1.5 s", "over TCP", "across hosts"})
    CHECK(has(text, part));
  CHECK_FALSE(has(text, "GPUs"));
  CHECK_FALSE(has(text, "within hosts"));
  CHECK_FALSE(has(text, " \n"));
  rates.within = NetworkSum{2, 5e9, 1e-6};
  rates.transport = "NCCL";
  rates.nccl = "NET/IB : Using mlx5_0";
  rates.hosts[0].gpus = {"A GPU"};
  const std::string gpus = doctor::describe(rates);
  for (const char* part : {"A GPU", "NET/IB : Using mlx5_0", "within hosts", "over NCCL"})
    CHECK(has(gpus, part));
}

TEST_CASE("of many pairs the slowest are listed, whichever way they are slow") {
  NetworkRates rates = of_hosts(12);
  auto& slow = *std::ranges::find_if(
      rates.pairs, [](const HostPairRate& p) { return p.from == 11 && p.to == 7; });
  slow.bytes_per_second = 3e6;
  const std::string text = doctor::describe(rates);
  CHECK(has(text, "host7 - host11"));
  CHECK(has(text, "3 MB/s"));
  CHECK(has(text, "66"));
  CHECK(lines_of(text) < 60);
  CHECK(lines_of(doctor::describe(of_hosts(8))) > 28);
}

TEST_CASE("hosts of different numbers of ranks are told that plans do not go by them") {
  NetworkRates rates = of_hosts(2);
  const std::string measured = doctor::describe(rates);
  rates.across.reset();
  const std::string guessed = doctor::describe(rates);
  CHECK_FALSE(has(measured, "guess"));
  CHECK(has(guessed, "guess"));
}

}  // namespace network_test
