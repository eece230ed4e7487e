// Granite 3 (IBM), and its edition with windows and attention sinks.
#include "architectures/families/family.hpp"
#include <algorithm>

namespace trainx::architectures {

void FamilyReader::granite_scalars() {
  attention_bias();
  rope();
  d_.score_scale = positive_number("attention_multiplier", 1);
  d_.branch_scale = positive_number("residual_multiplier", 1);
  d_.embedding_scale = positive_number("embedding_multiplier", 1);
  d_.logit_scale = 1 / positive_number("logits_scaling", 1);
}

namespace {

using nlohmann::json;

void granite(FamilyReader& r, DecoderDims&) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-6);
  r.granite_scalars();
  r.mlp_bias();
}

/// Of each layer the theta of its rope; 0: the layer knows no positions.
void rope_of_layers(const ConfigReader& file, DecoderDims& d) {
  const json* thetas = file.find("layer_rope_theta");
  if (!thetas) return;
  const auto is_theta = [](const json& x) { return x.is_number() && x.get<double>() >= 0; };
  if (!thetas->is_array() || std::ssize(*thetas) != d.num_layers ||
      !std::ranges::all_of(*thetas, is_theta))
    file.fail("layer_rope_theta must be a list of num_hidden_layers (" +
              std::to_string(d.num_layers) + ") numbers of at least 0");
  Rope rope = d.ropes.front();
  d.ropes.clear();
  for (std::size_t i = 0; i < d.layer_rope.size(); ++i) {
    rope.theta = (*thetas)[i].get<double>();
    auto same = std::ranges::find(d.ropes, rope);
    if (rope.theta > 0 && same == d.ropes.end()) same = d.ropes.insert(same, rope);
    d.layer_rope[i] = rope.theta > 0 ? static_cast<int>(same - d.ropes.begin()) : -1;
  }
}

void granite_swa(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 8192, .key_value_heads = 4, .tied = true});
  r.epsilon("rms_norm_eps", 1e-5);
  r.granite_scalars();
  r.mlp_bias();
  rope_of_layers(r.file(), d);
  std::vector<bool> sliding = r.sliding(0);
  if (!r.file().find("layer_types"))
    for (std::size_t i = 0; i < sliding.size(); ++i) sliding[i] = i % 4 != 0;
  r.windows(sliding, 128);
  d.names.sinks = "self_attn.sinks";
}

}  // namespace

std::vector<Family> granite_families() {
  return {
      {"granite",
       "Granite 3: Llama with four scalars",
       granite,
       {{"2b", R"({"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 40,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 49155,
                   "max_position_embeddings": 131072, "rms_norm_eps": 1e-05,
                   "tie_word_embeddings": true, "attention_multiplier": 0.015625,
                   "residual_multiplier": 0.22, "embedding_multiplier": 12.0,
                   "logits_scaling": 8.0,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 5000000.0}})"}}},
      {"granite_swa",
       "Granite with windows in three of four layers and attention sinks",
       granite_swa,
       {{"2b", R"({"hidden_size": 2560, "intermediate_size": 8192, "num_hidden_layers": 24,
                   "num_attention_heads": 20, "num_key_value_heads": 4, "vocab_size": 100352,
                   "max_position_embeddings": 8192, "rms_norm_eps": 1e-05,
                   "tie_word_embeddings": true, "sliding_window": 128})"}}},
  };
}

}  // namespace trainx::architectures
