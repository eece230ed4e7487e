// How fast hosts reach each other, as the ranks of a run measured it.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace trainx {

struct NetworkHost {
  std::string name;
  std::string address;            // by which the other hosts reach it
  std::string interface;          // that has this address; empty: none of the host has
  int ranks = 0;                  // that took part
  std::vector<std::string> gpus;  // their names, each once; empty: the ranks used CPUs
};

/// From one host to another by one TCP connection; places in NetworkRates::hosts.
struct HostPairRate {
  int from = 0, to = 0;
  double bytes_per_second = 0;
  double round_trip_seconds = 0;  // of a few bytes
};

/// Sums among some ranks at once, as training makes them.
struct NetworkSum {
  int ranks = 0;
  // that each rank sends: of a ring, 2 (ranks - 1) / ranks of the summed bytes
  double bytes_per_second = 0;
  double latency_seconds = 0;  // of a few bytes
};

struct NetworkRates {
  std::string transport;  // of the sums: "TCP", "NCCL"
  std::string nccl;       // the network that NCCL chose, in its own words; empty: it told none
  std::vector<NetworkHost> hosts;
  std::vector<HostPairRate> pairs;
  NetworkSum all;  // over all ranks
  // among ranks of the same place on each host, all places at once; empty: hosts differ in ranks
  std::optional<NetworkSum> across;
  std::optional<NetworkSum>
      within;  // among a host's ranks, all hosts at once; empty: one rank each
};

}  // namespace trainx
