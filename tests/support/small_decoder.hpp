// config.json of a small model of each family of decoders.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace small_decoder {

/// Positions are learned, or scores fall with distance.
inline bool has_rope(std::string_view family) { return family != "opt" && family != "bloom"; }
inline bool is_latent(std::string_view family) {
  return family.starts_with("deepseek") || family == "youtu" || family == "minicpm3";
}
/// As many heads of keys as of queries.
inline bool has_all_heads(std::string_view family) {
  return family == "opt" || family == "gpt_neox" || family == "bloom" || is_latent(family);
}
inline std::int64_t width(std::string_view family, std::int64_t hidden, std::int64_t otherwise) {
  return family == "bloom" ? 4 * hidden : otherwise;
}

/// Where an odd part of a head cannot turn.
inline bool turns_pairs(const std::string& family) {
  return family == "phi" || family == "stablelm";
}

inline nlohmann::json small(const std::string& family) {
  nlohmann::json c{{"model_type", family},     {"hidden_size", 40},
                   {"num_hidden_layers", 3},   {"num_attention_heads", 4},
                   {"num_key_value_heads", 4}, {"head_dim", 10},
                   {"vocab_size", 50},         {"max_position_embeddings", 32}};
  c[family == "opt" ? "ffn_dim" : "intermediate_size"] = width(family, 40, 60);
  if (is_latent(family))
    c.update({{"q_lora_rank", 12},
              {"kv_lora_rank", 8},
              {"qk_nope_head_dim", 6},
              {"qk_rope_head_dim", 4},
              {"v_head_dim", 5},
              {"head_dim", 4}});
  if (family.starts_with("deepseek")) c["first_k_dense_replace"] = 3;
  if (family == "dots1")
    c.update({{"n_routed_experts", 8}, {"num_experts_per_tok", 2}, {"n_shared_experts", 1}});
  if (family == "gpt_oss")  // which stretches positions without them
    c["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 150000.0}};
  if (turns_pairs(family)) c["partial_rotary_factor"] = 0.25;  // 2 of 10
  if (family == "bloom") c.erase("max_position_embeddings"), c["seq_length"] = 32;
  return c;
}

}  // namespace small_decoder
