#include "facts/facts.hpp"
#include "facts/gpus.hpp"
#include "architectures/absent_tensor.hpp"
#include "architectures/own_head.hpp"
#include "architectures/custom_json.hpp"
#include <nlohmann/json.hpp>

namespace trainx::facts {
nlohmann::json to_json(const Facts& facts) {
  const auto& h = facts.hardware;
  const auto& d = facts.data;
  nlohmann::json j;
  j["hardware"] = {{"host", h.host},
                   {"cpu", h.cpu},
                   {"cpu_cores", h.cpu_cores},
                   {"memory_bytes", h.memory_bytes},
                   {"gpus", nlohmann::json::array()},
                   {"local_ranks", h.local_ranks},
                   {"link_bytes_per_s", h.link_bytes_per_s},
                   {"link_latency_s", h.link_latency_s},
                   {"host_bytes_per_s", h.host_bytes_per_s},
                   {"host_update_bytes_per_s", h.host_update_bytes_per_s},
                   {"has_cuda_parts", h.has_cuda_parts},
                   {"peers_are_off", h.peers_are_off},
                   {"network",
                    {{"hosts", h.network.hosts},
                     {"ranks_per_host", h.network.ranks_per_host},
                     {"bytes_per_s", h.network.bytes_per_s},
                     {"latency_s", h.network.latency_s},
                     {"link_bytes_per_s", h.network.link_bytes_per_s},
                     {"link_latency_s", h.network.link_latency_s}}}};
  for (const Gpu& gpu : h.gpus) j["hardware"]["gpus"].push_back(to_json(gpu));
  j["data"] = {{"train_present", d.train_present}, {"eval_present", d.eval_present},
               {"train_samples", d.train_samples}, {"eval_samples", d.eval_samples},
               {"vocab_size", d.vocab_size},       {"problem", d.problem},
               {"eval_problem", d.eval_problem},   {"gives_targets", d.gives_targets},
               {"label_names", d.label_names}};
  j["data"]["entropy_floor_nats"] = d.entropy_floor_nats ? nlohmann::json(*d.entropy_floor_nats)
                                                         : nlohmann::json();
  j["offload_folder"] = nlohmann::json();
  if (const auto& o = facts.offload_folder)
    j["offload_folder"] = {
        {"folder", o->folder},
        {"free_bytes", o->free_bytes ? nlohmann::json(*o->free_bytes) : nlohmann::json()},
        {"bytes_per_s", o->bytes_per_s}};
  j["model_folder"] = facts.model_folder
                          ? nlohmann::json{{"path", facts.model_folder->path},
                                           {"config", facts.model_folder->config},
                                           {"head_is_tied", facts.model_folder->head_is_tied},
                                           {"head_is_parted", facts.model_folder->head_is_parted}}
                          : nlohmann::json();
  j["adapter_folder"] = facts.adapter_folder
                            ? nlohmann::json{{"path", facts.adapter_folder->path},
                                             {"config", facts.adapter_folder->config},
                                             {"tensors", facts.adapter_folder->tensors}}
                            : nlohmann::json();
  j["masking"] = facts.masking ? nlohmann::json{{"tokenizer", facts.masking->tokenizer},
                                                {"mask_token", facts.masking->mask_token},
                                                {"special_tokens", facts.masking->special_tokens}}
                               : nlohmann::json();
  j["model_shapes"] = nlohmann::json::array();
  for (const auto& shape : facts.model_shapes)
    j["model_shapes"].push_back(architectures::to_json(shape));
  j["own_rule"] = facts.own_rule
                      ? nlohmann::json{{"bytes_per_element", facts.own_rule->bytes_per_element},
                                       {"seconds_per_element", facts.own_rule->seconds_per_element},
                                       {"not_captured", facts.own_rule->not_captured}}
                      : nlohmann::json();
  return j;
}

Facts facts_from_json(const nlohmann::json& j) {
  Facts facts;
  const auto& h = j.at("hardware");
  h.at("host").get_to(facts.hardware.host);
  h.at("cpu").get_to(facts.hardware.cpu);
  h.at("cpu_cores").get_to(facts.hardware.cpu_cores);
  h.at("memory_bytes").get_to(facts.hardware.memory_bytes);
  facts.hardware.gpus = gpus_from_json(h.at("gpus")).value();
  h.at("local_ranks").get_to(facts.hardware.local_ranks);
  h.at("link_bytes_per_s").get_to(facts.hardware.link_bytes_per_s);
  h.at("link_latency_s").get_to(facts.hardware.link_latency_s);
  h.at("host_bytes_per_s").get_to(facts.hardware.host_bytes_per_s);
  h.at("host_update_bytes_per_s").get_to(facts.hardware.host_update_bytes_per_s);
  h.at("has_cuda_parts").get_to(facts.hardware.has_cuda_parts);
  h.at("peers_are_off").get_to(facts.hardware.peers_are_off);
  const auto& n = h.at("network");
  n.at("hosts").get_to(facts.hardware.network.hosts);
  n.at("ranks_per_host").get_to(facts.hardware.network.ranks_per_host);
  n.at("bytes_per_s").get_to(facts.hardware.network.bytes_per_s);
  n.at("latency_s").get_to(facts.hardware.network.latency_s);
  n.at("link_bytes_per_s").get_to(facts.hardware.network.link_bytes_per_s);
  n.at("link_latency_s").get_to(facts.hardware.network.link_latency_s);
  const auto& d = j.at("data");
  d.at("train_present").get_to(facts.data.train_present);
  d.at("eval_present").get_to(facts.data.eval_present);
  d.at("train_samples").get_to(facts.data.train_samples);
  d.at("eval_samples").get_to(facts.data.eval_samples);
  d.at("vocab_size").get_to(facts.data.vocab_size);
  d.at("label_names").get_to(facts.data.label_names);
  d.at("problem").get_to(facts.data.problem);
  d.at("eval_problem").get_to(facts.data.eval_problem);
  d.at("gives_targets").get_to(facts.data.gives_targets);
  if (const auto& floor = d.at("entropy_floor_nats"); !floor.is_null())
    facts.data.entropy_floor_nats = floor.get<double>();
  if (const auto& o = j.at("offload_folder"); !o.is_null()) {
    facts.offload_folder.emplace(
        OffloadFolderFacts{o.at("folder"), std::nullopt, o.at("bytes_per_s")});
    if (const auto& free = o.at("free_bytes"); !free.is_null())
      facts.offload_folder->free_bytes = free.get<std::int64_t>();
  }
  if (const auto& folder = j.at("model_folder"); !folder.is_null()) {
    const auto path = folder.at("path").get<std::string>(),
               config = folder.at("config").get<std::string>();
    facts.model_folder = ModelFolderFacts{
        path, config, architectures::dims_from_config(config, path + "/config.json"),
        folder.at("head_is_tied").get<bool>(), folder.at("head_is_parted").get<bool>()};
    if (facts.model_folder->head_is_tied) architectures::tie_head(facts.model_folder->dims);
    if (facts.model_folder->head_is_parted) architectures::part_head(facts.model_folder->dims);
  }
  if (const auto& folder = j.at("adapter_folder"); !folder.is_null())
    facts.adapter_folder = {folder.at("path").get<std::string>(),
                            folder.at("config").get<std::string>(),
                            folder.at("tensors").get<std::vector<std::string>>()};
  if (const auto& masking = j.at("masking"); !masking.is_null())
    facts.masking = {masking.at("tokenizer").get<std::string>(),
                     masking.at("mask_token").get<std::int64_t>(),
                     masking.at("special_tokens").get<std::vector<std::int64_t>>()};
  for (const auto& shape : j.at("model_shapes"))
    facts.model_shapes.push_back(architectures::custom_shape_from_json(shape));
  if (const auto& rule = j.at("own_rule"); !rule.is_null())
    facts.own_rule = {rule.at("bytes_per_element").get<double>(),
                      rule.at("seconds_per_element").get<double>(),
                      rule.at("not_captured").get<std::string>()};
  return facts;
}

}  // namespace trainx::facts
