#include "plan/explain/host_traffic.hpp"
#include "plan/explain/human_time.hpp"
#include "program/operations.hpp"
#include "program/ring.hpp"
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::plan {

using program::Op;

HostTraffic host_traffic(const RunPlan& plan) {
  HostTraffic traffic;
  if (plan.ranks_per_host == 0) return traffic;
  traffic.hosts = plan.mesh.world / plan.ranks_per_host;
  const auto& p = plan.role().train.back().program;
  program::Rates network;
  network.ranks_per_host = plan.ranks_per_host;
  network.network_bytes_per_s = plan.network.bytes_per_s;
  network.network_latency_s = plan.network.latency_s;
  for (const program::Instruction& i : p.steady) {
    if (!program::is_collective(i.op) || i.op == Op::send || i.op == Op::recv) continue;
    const program::Ring ring = program::ring_of(i, p, plan.ranks_per_host);
    const auto times = static_cast<double>(program::times(p, i)),
               bytes = static_cast<double>(program::sent_bytes(p, i));
    traffic.within_bytes += times * ring.within_a_host(bytes);
    traffic.network_bytes += times * ring.to_next_host(bytes);
    if (ring.spans_hosts()) traffic.seconds += times * ring.seconds(bytes, network);
  }
  return traffic;
}

std::string describe(const HostTraffic& traffic, const NetworkPrediction& network) {
  const std::string sent = human_bytes(std::llround(traffic.within_bytes)) +
                           " between its ranks, " +
                           human_bytes(std::llround(traffic.network_bytes)) + " to the next host";
  if (network.bytes_per_s <= 0) return sent;
  return sent + " in " + human_time(traffic.seconds) +
         (network.measured_hosts > 0
              ? ": measured, between " + std::to_string(network.measured_hosts) + " hosts of " +
                    std::to_string(network.measured_ranks_per_host) + " ranks, as "
              : ": a guess (trainx doctor --hosts measures a network), by ") +
         human_bytes(std::llround(network.bytes_per_s)) + "/s of network for each rank";
}

nlohmann::json to_json(const HostTraffic& traffic, const NetworkPrediction& network) {
  nlohmann::json j{{"hosts", traffic.hosts},
                   {"within_bytes", std::llround(traffic.within_bytes)},
                   {"network_bytes", std::llround(traffic.network_bytes)},
                   {"network_ms", traffic.seconds * 1e3}};
  if (network.measured_hosts == 0) {
    j["assumed_network_bytes_per_s"] = network.bytes_per_s;
    return j;
  }
  j["measured_network_bytes_per_s"] = network.bytes_per_s;
  j["measured_network_latency_s"] = network.latency_s;
  j["measured_hosts"] = network.measured_hosts;
  return j;
}

}  // namespace trainx::plan
