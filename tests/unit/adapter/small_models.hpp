// Modules of small models, as transformers names them.
#pragma once
#include "adapter/targets.hpp"

namespace trainx::adapter::testing {

inline Module linear(const std::string& name, std::int64_t in, std::int64_t out) {
  return {.name = name, .kind = ModuleKind::linear, .in = in, .out = out};
}

inline std::vector<Module> llama(int layers, bool tied = false) {
  std::vector<Module> modules{{.name = "model.embed_tokens",
                               .kind = ModuleKind::embedding,
                               .in = 64,
                               .out = 8,
                               .input_embedding = true}};
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      modules.push_back(
          linear(layer + "self_attn." + name, 8, name[0] == 'k' || name[0] == 'v' ? 4 : 8));
    modules.push_back(linear(layer + "mlp.gate_proj", 8, 12));
    modules.push_back(linear(layer + "mlp.up_proj", 8, 12));
    modules.push_back(linear(layer + "mlp.down_proj", 12, 8));
    modules.push_back({.name = layer + "input_layernorm", .kind = ModuleKind::other});
  }
  modules.push_back({.name = "model.norm", .kind = ModuleKind::other});
  modules.push_back({.name = "lm_head",
                     .kind = ModuleKind::linear,
                     .in = 8,
                     .out = 64,
                     .output_head = true,
                     .tied_to_embedding = tied});
  return modules;
}

/// One layer of Qwen3-MoE with three experts.
inline std::vector<Module> mixture() {
  const std::string layer = "model.layers.0.";
  std::vector<Module> modules{linear(layer + "self_attn.q_proj", 8, 8),
                              linear(layer + "self_attn.o_proj", 8, 8)};
  modules.push_back({.name = layer + "mlp.gate", .kind = ModuleKind::router, .in = 8, .out = 3});
  modules.push_back({.name = layer + "mlp.experts.gate_up_proj",
                     .kind = ModuleKind::expert_tensor,
                     .in = 8,
                     .out = 10,
                     .experts = 3});
  modules.push_back({.name = layer + "mlp.experts.down_proj",
                     .kind = ModuleKind::expert_tensor,
                     .in = 5,
                     .out = 8,
                     .experts = 3});
  modules.push_back(
      {.name = "lm_head", .kind = ModuleKind::linear, .in = 8, .out = 64, .output_head = true});
  return modules;
}

inline Targets suffixes(std::vector<std::string> names) {
  return {.kind = Targets::Kind::suffixes, .suffixes = std::move(names), .expression = {}};
}

inline Targets expression(const std::string& text) {
  return {.kind = Targets::Kind::expression, .suffixes = {}, .expression = text};
}

inline Targets all_linear() {
  return {.kind = Targets::Kind::all_linear, .suffixes = {}, .expression = {}};
}

}  // namespace trainx::adapter::testing
