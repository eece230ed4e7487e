// Adapters' targets and files for tests that hold them against PEFT: a request in JSON on each line
// of stdin, an answer in JSON on each line of stdout.
#include "adapter/names.hpp"
#include "core/error.hpp"
#include <nlohmann/json.hpp>
#include <iostream>

namespace {

using namespace trainx;
using namespace trainx::adapter;
using nlohmann::json;

ModuleKind kind_of(const std::string& name) {
  return name == "linear"          ? ModuleKind::linear
         : name == "embedding"     ? ModuleKind::embedding
         : name == "expert_tensor" ? ModuleKind::expert_tensor
         : name == "router"        ? ModuleKind::router
                                   : ModuleKind::other;
}

std::vector<Module> modules_of(const json& list) {
  std::vector<Module> modules;
  for (const json& m : list)
    modules.push_back({.name = m.at("name"),
                       .kind = kind_of(m.at("kind")),
                       .in = m.value("in", 0),
                       .out = m.value("out", 0),
                       .output_head = m.value("output_head", false),
                       .experts = m.value("experts", 1),
                       .conv1d = m.value("conv1d", false),
                       .input_embedding = m.value("input_embedding", false),
                       .tied_to_embedding = m.value("tied", false)});
  return modules;
}

json answer_to(const json& asked) {
  const auto modules = modules_of(asked.at("modules"));
  const auto parameters = asked.at("parameters").get<std::vector<std::string>>();
  const Config config = read_config(asked.at("config"), "adapter_config.json");
  const auto chosen =
      choose_targets(config, modules, asked.at("model_type").get<std::string>(),
                     asked.value("strict", false) ? Unmatched::refused : Unmatched::warned_of);
  json answer{{"adapted", json::array()}, {"tensors", json::array()}};
  for (const Target& target : chosen.adapted)
    answer["adapted"].push_back({modules[target.module].name, target.low_rank.rank,
                                 target.low_rank.scale, target.low_rank.dropout});
  for (const AdapterTensor& tensor : adapter_tensors(modules, chosen, parameters))
    answer["tensors"].push_back({tensor.name, tensor.dims, tensor.parameter});
  answer["config"] = config_text(chosen.written);
  answer["warnings"] = chosen.warnings;
  return answer;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      answer = answer_to(json::parse(line));
    } catch (const UserError& e) {
      answer = {{"refused", static_cast<int>(e.code())}, {"sentence", e.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
