// What `trainx doctor --hosts` measures, on all ranks.
#pragma once
#include "comm/control.hpp"
#include "core/network_rates.hpp"
#include "facts/facts.hpp"

namespace trainx::execute {

/// What this rank computes on, for Control: empty for a CPU. Throws UserError 69: no such GPU.
std::string measuring_device(bool on_gpu, int local_rank);

/// Round trips and flows over TCP between the first ranks of every two hosts, then sums among all
/// ranks, across hosts and within each: over NCCL on GPUs, else over TCP. All ranks call it at the
/// same time, and all get all rates. Throws UserError: 2 all ranks run on one host, 69 NCCL cannot
/// connect the GPUs, and the run's failure.
NetworkRates measure_network(comm::Control& control, const facts::HardwareFacts& hardware,
                             bool on_gpu);

}  // namespace trainx::execute
