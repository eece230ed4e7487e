// What was measured between hosts, kept for the plans to come.
#pragma once
#include "core/network_rates.hpp"
#include "facts/facts.hpp"
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace trainx::facts {

nlohmann::ordered_json to_json(const NetworkRates& rates);
/// Throws nlohmann::json::exception where it is something else.
NetworkRates network_rates_from_json(const nlohmann::ordered_json& j);

/// Kept in the cache, in place of what was measured between the same hosts with the same GPUs.
/// Nowhere to keep it is no problem.
void remember_network(const NetworkRates& rates);
/// The newest in which this host took part with these GPUs, or without any: by their names,
/// however many of each.
std::optional<NetworkRates> remembered_network(const std::string& host,
                                               const std::vector<std::string>& gpu_names);

/// What plans take of it. Empty where hosts had different numbers of ranks.
NetworkFacts facts_of(const NetworkRates& rates);

/// Each once, sorted.
std::vector<std::string> distinct(std::vector<std::string> names);

}  // namespace trainx::facts
