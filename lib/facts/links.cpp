#include "facts/links.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "facts/cache.hpp"
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainx::facts {
namespace {

using Json = nlohmann::ordered_json;

std::string path_of_links_cache() {
  const std::string folder = cache_folder();
  return folder.empty() ? folder : folder + "/links.json";
}

/// What rates hold for: home folders are shared between machines.
std::string state_of_links(const std::vector<std::string>& gpu_names) {
  return Json{host_name(), gpu_names, environment_variable("CUDA_VISIBLE_DEVICES")}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json to_json(const LinkRates& rates) {
  Json j{{"hosts", Json::array()}, {"pairs", Json::array()}};
  for (const HostLinkRate& h : rates.hosts)
    j["hosts"].push_back({{"gpu", h.gpu},
                          {"to_gpu_bytes_per_second", h.to_gpu_bytes_per_second},
                          {"to_host_bytes_per_second", h.to_host_bytes_per_second}});
  for (const PairLinkRate& p : rates.pairs) {
    j["pairs"].push_back({{"from", p.from},
                          {"to", p.to},
                          {"staged_bytes_per_second", p.staged_bytes_per_second},
                          {"latency_seconds", p.latency_seconds}});
    if (p.direct_bytes_per_second)
      j["pairs"].back()["direct_bytes_per_second"] = *p.direct_bytes_per_second;
  }
  if (rates.sum)
    j["sum"] = {{"gpus", rates.sum->gpus},
                {"bytes_per_second", rates.sum->bytes_per_second},
                {"latency_seconds", rates.sum->latency_seconds}};
  if (!rates.sum_problem.empty()) j["sum_problem"] = rates.sum_problem;
  return j;
}

LinkRates link_rates_from_json(const Json& j) {
  LinkRates rates;
  for (const Json& h : j.at("hosts"))
    rates.hosts.push_back(
        {h.at("gpu"), h.at("to_gpu_bytes_per_second"), h.at("to_host_bytes_per_second")});
  for (const Json& p : j.at("pairs")) {
    rates.pairs.push_back({p.at("from"), p.at("to"), p.at("staged_bytes_per_second"), std::nullopt,
                           p.at("latency_seconds")});
    if (const auto direct = p.find("direct_bytes_per_second"); direct != p.end())
      rates.pairs.back().direct_bytes_per_second = direct->get<double>();
  }
  if (const auto sum = j.find("sum"); sum != j.end())
    rates.sum = SumRate{sum->at("gpus"), sum->at("bytes_per_second"), sum->at("latency_seconds")};
  rates.sum_problem = j.value("sum_problem", "");
  return rates;
}

void remember_links(const LinkRates& rates, const std::vector<std::string>& gpu_names) {
  if (path_of_links_cache().empty()) return;
  try {
    make_folders(cache_folder());
    write_file_atomic(path_of_links_cache(),
                      Json{{"state", state_of_links(gpu_names)}, {"links", to_json(rates)}}.dump());
  } catch (const UserError&) {
    return;  // measured again by the next who asks
  }
}

std::optional<LinkRates> remembered_links(const std::vector<std::string>& gpu_names) {
  std::ifstream in(path_of_links_cache(), std::ios::binary);
  const Json kept =
      Json::parse(std::string{std::istreambuf_iterator<char>(in), {}}, nullptr, false);
  if (!kept.is_object() || kept.value("state", Json()) != state_of_links(gpu_names))
    return std::nullopt;
  try {
    return link_rates_from_json(kept.at("links"));
  } catch (const Json::exception&) {
    return std::nullopt;  // of another trainx
  }
}

}  // namespace trainx::facts
