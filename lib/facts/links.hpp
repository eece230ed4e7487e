// What was measured of this machine's links, kept for the plans to come.
#pragma once
#include "core/link_rates.hpp"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainx::facts {

nlohmann::ordered_json to_json(const LinkRates& rates);
/// Throws nlohmann::json::exception where it is something else.
LinkRates link_rates_from_json(const nlohmann::ordered_json& j);

/// Kept in the cache until this host shows other GPUs, by name or by CUDA_VISIBLE_DEVICES. Nowhere
/// to keep it is no problem.
void remember_links(const LinkRates& rates, const std::vector<std::string>& gpu_names);
std::optional<LinkRates> remembered_links(const std::vector<std::string>& gpu_names);

}  // namespace trainx::facts
