#include "facts/facts.hpp"
#include <nlohmann/json.hpp>

namespace trainx::facts {
namespace {

nlohmann::json dims_to_json(const spec::Gpt2Dims& d) {
  return {{"num_layers", d.num_layers},         {"num_heads", d.num_heads},   {"hidden_size", d.hidden_size}, {"intermediate_size", d.intermediate_size},
          {"max_positions", d.max_positions},   {"vocab_size", d.vocab_size}, {"dropout", d.dropout},         {"layer_norm_epsilon", d.layer_norm_epsilon}};
}

spec::Gpt2Dims dims_from_json(const nlohmann::json& j) {
  spec::Gpt2Dims d;
  j.at("num_layers").get_to(d.num_layers);
  j.at("num_heads").get_to(d.num_heads);
  j.at("hidden_size").get_to(d.hidden_size);
  j.at("intermediate_size").get_to(d.intermediate_size);
  j.at("max_positions").get_to(d.max_positions);
  j.at("vocab_size").get_to(d.vocab_size);
  j.at("dropout").get_to(d.dropout);
  j.at("layer_norm_epsilon").get_to(d.layer_norm_epsilon);
  return d;
}

}  // namespace

nlohmann::json to_json(const Facts& facts) {
  const auto& h = facts.hardware;
  const auto& d = facts.data;
  nlohmann::json j;
  j["hardware"] = {{"host", h.host}, {"cpu", h.cpu}, {"cpu_cores", h.cpu_cores}, {"memory_bytes", h.memory_bytes}, {"gpus", h.gpus}};
  j["data"] = {{"train_present", d.train_present}, {"eval_present", d.eval_present}, {"train_samples", d.train_samples}, {"eval_samples", d.eval_samples},
               {"vocab_size", d.vocab_size},       {"problem", d.problem},           {"eval_problem", d.eval_problem}};
  j["data"]["entropy_floor_nats"] = d.entropy_floor_nats ? nlohmann::json(*d.entropy_floor_nats) : nlohmann::json();
  j["model_folder"] = facts.model_folder ? nlohmann::json{{"path", facts.model_folder->path}, {"dims", dims_to_json(facts.model_folder->dims)}} : nlohmann::json();
  return j;
}

Facts facts_from_json(const nlohmann::json& j) {
  Facts facts;
  const auto& h = j.at("hardware");
  h.at("host").get_to(facts.hardware.host);
  h.at("cpu").get_to(facts.hardware.cpu);
  h.at("cpu_cores").get_to(facts.hardware.cpu_cores);
  h.at("memory_bytes").get_to(facts.hardware.memory_bytes);
  h.at("gpus").get_to(facts.hardware.gpus);
  const auto& d = j.at("data");
  d.at("train_present").get_to(facts.data.train_present);
  d.at("eval_present").get_to(facts.data.eval_present);
  d.at("train_samples").get_to(facts.data.train_samples);
  d.at("eval_samples").get_to(facts.data.eval_samples);
  d.at("vocab_size").get_to(facts.data.vocab_size);
  d.at("problem").get_to(facts.data.problem);
  d.at("eval_problem").get_to(facts.data.eval_problem);
  if (const auto& floor = d.at("entropy_floor_nats"); !floor.is_null()) facts.data.entropy_floor_nats = floor.get<double>();
  if (const auto& folder = j.at("model_folder"); !folder.is_null()) facts.model_folder = ModelFolderFacts{folder.at("path").get<std::string>(), dims_from_json(folder.at("dims"))};
  return facts;
}

}  // namespace trainx::facts
