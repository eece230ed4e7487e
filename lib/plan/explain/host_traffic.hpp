// What a step sends over the links of a host and over the network between hosts.
#pragma once
#include "plan/run_plan.hpp"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainx::plan {

/// Of one host in a step, each way; rings of docs/parallel.md. `seconds`: of the collectives that
/// go from host to host, one after the other; part of them passes beside products.
struct HostTraffic {
  std::int64_t hosts = 1;
  double within_bytes = 0, network_bytes = 0, seconds = 0;
};

/// Of the collectives; dp's, which rank 0 alone sends, are left out.
HostTraffic host_traffic(const RunPlan& plan);

/// "1 GiB between its ranks, 2 GiB to the next host in 3.0 ms: measured, ...".
std::string describe(const HostTraffic& traffic, const NetworkPrediction& network);
nlohmann::json to_json(const HostTraffic& traffic, const NetworkPrediction& network);

}  // namespace trainx::plan
