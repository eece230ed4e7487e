#include "facts/network.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "facts/cache.hpp"
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainx::facts {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_kept = 64;

std::string path_of_network_cache() {
  const std::string folder = cache_folder();
  return folder.empty() ? folder : folder + "/network.json";
}

Json to_json(const NetworkSum& sum) {
  return {{"ranks", sum.ranks},
          {"bytes_per_second", sum.bytes_per_second},
          {"latency_seconds", sum.latency_seconds}};
}

NetworkSum sum_from_json(const Json& j) {
  return {j.at("ranks"), j.at("bytes_per_second"), j.at("latency_seconds")};
}

std::optional<NetworkSum> optional_sum(const Json& j, const char* name) {
  const auto found = j.find(name);
  return found == j.end() ? std::nullopt : std::optional(sum_from_json(*found));
}

bool are_same_hosts(const NetworkRates& a, const NetworkRates& b) {
  return std::ranges::equal(a.hosts, b.hosts, [](const NetworkHost& x, const NetworkHost& y) {
    return x.name == y.name && x.gpus == y.gpus;
  });
}

/// Newest first; what another trainx wrote counts for nothing.
std::vector<NetworkRates> kept_networks() {
  std::ifstream in(path_of_network_cache(), std::ios::binary);
  const Json kept =
      Json::parse(std::string{std::istreambuf_iterator<char>(in), {}}, nullptr, false);
  std::vector<NetworkRates> all;
  if (!kept.is_array()) return all;
  try {
    for (const Json& j : kept) all.push_back(network_rates_from_json(j));
  } catch (const Json::exception&) { all.clear(); }
  return all;
}

}  // namespace

std::vector<std::string> distinct(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Json to_json(const NetworkRates& rates) {
  Json j{{"transport", rates.transport}, {"hosts", Json::array()}, {"pairs", Json::array()}};
  if (!rates.nccl.empty()) j["nccl"] = rates.nccl;
  for (const NetworkHost& h : rates.hosts)
    j["hosts"].push_back({{"name", h.name},
                          {"address", h.address},
                          {"interface", h.interface},
                          {"ranks", h.ranks},
                          {"gpus", h.gpus}});
  for (const HostPairRate& p : rates.pairs)
    j["pairs"].push_back({{"from", p.from},
                          {"to", p.to},
                          {"bytes_per_second", p.bytes_per_second},
                          {"round_trip_seconds", p.round_trip_seconds}});
  j["all"] = to_json(rates.all);
  if (rates.across) j["across"] = to_json(*rates.across);
  if (rates.within) j["within"] = to_json(*rates.within);
  return j;
}

NetworkRates network_rates_from_json(const Json& j) {
  NetworkRates rates;
  rates.transport = j.at("transport");
  rates.nccl = j.value("nccl", "");
  for (const Json& h : j.at("hosts"))
    rates.hosts.push_back(
        {h.at("name"), h.at("address"), h.at("interface"), h.at("ranks"), h.at("gpus")});
  for (const Json& p : j.at("pairs"))
    rates.pairs.push_back(
        {p.at("from"), p.at("to"), p.at("bytes_per_second"), p.at("round_trip_seconds")});
  rates.all = sum_from_json(j.at("all"));
  rates.across = optional_sum(j, "across");
  rates.within = optional_sum(j, "within");
  return rates;
}

void remember_network(const NetworkRates& rates) {
  if (path_of_network_cache().empty()) return;
  std::vector<NetworkRates> all = kept_networks();
  std::erase_if(all, [&](const NetworkRates& other) { return are_same_hosts(other, rates); });
  all.insert(all.begin(), rates);
  all.resize(std::min(all.size(), most_kept));
  Json list = Json::array();
  for (const NetworkRates& each : all) list.push_back(to_json(each));
  try {
    make_folders(cache_folder());
    write_file_atomic(path_of_network_cache(),
                      list.dump(-1, ' ', false, Json::error_handler_t::replace));
  } catch (const UserError&) {
    return;  // plans guess
  }
}

std::optional<NetworkRates> remembered_network(const std::string& host,
                                               const std::vector<std::string>& gpu_names) {
  const std::vector<std::string> gpus = distinct(gpu_names);
  for (NetworkRates& rates : kept_networks())
    for (const NetworkHost& h : rates.hosts)
      if (h.name == host && h.gpus == gpus) return std::move(rates);
  return std::nullopt;
}

NetworkFacts facts_of(const NetworkRates& rates) {
  NetworkFacts facts;
  if (!rates.across || rates.hosts.empty()) return facts;
  facts.hosts = std::ssize(rates.hosts);
  facts.ranks_per_host = rates.hosts.front().ranks;
  facts.bytes_per_s = rates.across->bytes_per_second * static_cast<double>(facts.ranks_per_host);
  facts.latency_s = rates.across->latency_seconds;
  if (rates.within)
    facts.link_bytes_per_s = rates.within->bytes_per_second,
    facts.link_latency_s = rates.within->latency_seconds;
  return facts;
}

}  // namespace trainx::facts
