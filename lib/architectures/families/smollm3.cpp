// SmolLM3.
#include "architectures/families/family.hpp"
#include <vector>

namespace trainx::architectures {
namespace {

/// Every fourth layer knows no positions.
void smollm3(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 32768, .key_value_heads = 4, .tied = true});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.mlp_bias();
  r.rope({.theta = 2000000});
  const std::int64_t interval = r.file().dimension("no_rope_layer_interval", 4);
  const auto* layers = r.file().find("no_rope_layers");
  if (layers && (!layers->is_array() || std::ssize(*layers) != d.num_layers))
    r.file().fail("no_rope_layers must be a list of num_hidden_layers numbers");
  const auto listed = [&](const nlohmann::json& layer) {
    const bool has = layer == 1 || layer == true;
    if (!has && layer != 0 && layer != false)
      r.file().fail("no_rope_layers has " + shown(layer) + "; a layer is 0 or 1");
    return has;
  };
  for (std::int64_t i = 0; i < d.num_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool has = layers ? listed((*layers)[at]) : (i + 1) % interval != 0;
    d.layer_rope[at] = has ? 0 : -1;
  }
  // layers that know no positions slide, unless layer_types says which
  const bool slides = r.flag("use_sliding_window", false);
  std::vector<bool> sliding = r.sliding(0);
  if (!r.file().find("layer_types"))
    for (std::size_t i = 0; i < sliding.size(); ++i) sliding[i] = slides && d.layer_rope[i] < 0;
  r.windows(sliding);
}

}  // namespace

std::vector<Family> smollm3_families() {
  return {
      {"smollm3",
       "Llama with layers that know no positions",
       smollm3,
       {{"3b", R"({"hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
                   "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256,
                   "max_position_embeddings": 65536, "rms_norm_eps": 1e-06,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 5000000.0}})"}}},
  };
}

}  // namespace trainx::architectures
