#include "program/ring.hpp"
#include <algorithm>

namespace trainx::program {
namespace {

double seconds_at(double bytes, double per_s) { return per_s > 0 ? bytes / per_s : 0; }

}  // namespace

double Ring::within_a_host(double bytes) const {
  if (exchanges)
    return static_cast<double>(rings_of_a_host * ranks_of_a_host) * slots_sent_within() * bytes;
  const std::int64_t links = spans_hosts() ? ranks_of_a_host - 1 : ranks_of_a_host;
  return static_cast<double>(rings_of_a_host * links) * passes * bytes;
}

/// Of as many slots as ranks, those that a rank sends to others of its host.
double Ring::slots_sent_within() const {
  return static_cast<double>(ranks_of_a_host - 1) / static_cast<double>(ranks);
}

double Ring::to_next_host(double bytes) const {
  if (exchanges)
    return static_cast<double>(rings_of_a_host * ranks_of_a_host * (ranks - ranks_of_a_host)) /
           static_cast<double>(ranks) * bytes;
  return spans_hosts() ? static_cast<double>(rings_of_a_host) * passes * bytes : 0;
}

double Ring::seconds(double bytes, const Rates& rates) const {
  const double within =
      !spans_hosts() || ranks_of_a_host > 1
          ? seconds_at((exchanges ? slots_sent_within() : passes) * bytes, rates.link_bytes_per_s)
          : 0;
  const double between = seconds_at(
      to_next_host(bytes), rates.network_bytes_per_s * static_cast<double>(rates.ranks_per_host));
  return std::max(within, between) +
         (spans_hosts() ? rates.network_latency_s : rates.link_latency_s);
}

// A ring: each byte passes (ranks - 1) / ranks of the links, twice where it is summed and handed
// out.
Ring ring_of(const Instruction& i, const StepProgram& p, std::int64_t ranks_per_host) {
  const std::int64_t host = ranks_per_host > 0 ? ranks_per_host : p.mesh.ranks();
  Ring ring;
  ring.ranks = p.mesh.size(i.along);
  ring.ranks_of_a_host = p.mesh.among_neighbours(i.along, static_cast<int>(host));
  ring.rings_of_a_host = host / ring.ranks_of_a_host;
  const auto ranks = static_cast<double>(ring.ranks);
  ring.exchanges = i.op == Op::all_to_all;
  ring.passes = (ranks - 1) / ranks * (i.op == Op::reduce ? 2 : 1);
  return ring;
}

}  // namespace trainx::program
