// Measures links between the hosts of a run.
#pragma once
#include "comm/communicator.hpp"
#include "comm/host_pairs.hpp"
#include "core/network_rates.hpp"
#include <functional>

namespace trainx::comm {

/// Between the first ranks of every two hosts, both ways: about a second for each host. All ranks
/// call it at the same time, and all get all rates. Throws the run's failure.
std::vector<HostPairRate> measure_pairs(Control& control, Communicator& all,
                                        const HostRanks& hosts);

/// Sums so many bytes of floats over some of the ranks, and returns when the sum is there.
using SumOf = std::function<void(std::int64_t bytes)>;

/// `ranks`: of each sum. All ranks call it at the same time, for as many bytes as take a fifth of a
/// second, at most `most_bytes`; the slowest rank's times count, on all. Throws the run's failure.
NetworkSum measure_sum(Control& control, int ranks, std::int64_t most_bytes, const SumOf& sum);

}  // namespace trainx::comm
