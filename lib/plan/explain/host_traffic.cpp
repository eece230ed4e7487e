#include "plan/explain/host_traffic.hpp"
#include "program/operations.hpp"
#include "program/ring.hpp"

namespace trainx::plan {

using program::Op;

HostTraffic host_traffic(const RunPlan& plan) {
  HostTraffic traffic;
  if (plan.ranks_per_host == 0) return traffic;
  traffic.hosts = plan.mesh.data / plan.ranks_per_host;
  const auto& p = plan.train.back().program;
  program::Rates network;
  network.ranks_per_host = plan.ranks_per_host;
  network.network_bytes_per_s = plan.assumed_network_bytes_per_s;
  for (const program::Instruction& i : p.steady) {
    if (!program::is_collective(i.op) || i.op == Op::send || i.op == Op::recv) continue;
    const program::Ring ring = program::ring_of(i, p, plan.ranks_per_host);
    const auto times = static_cast<double>(program::times(p, i)),
               bytes = static_cast<double>(program::sent_bytes(i));
    traffic.within_bytes += times * ring.within_a_host(bytes);
    traffic.network_bytes += times * ring.to_next_host(bytes);
    if (ring.spans_hosts()) traffic.seconds += times * ring.seconds(bytes, network);
  }
  return traffic;
}

}  // namespace trainx::plan
