// Granite 3 (IBM).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void granite(FamilyReader& r, DecoderDims& d) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.mlp_bias();
  r.rope();
  d.score_scale = r.positive_number("attention_multiplier", 1);
  d.branch_scale = r.positive_number("residual_multiplier", 1);
  d.embedding_scale = r.positive_number("embedding_multiplier", 1);
  d.logit_scale = 1 / r.positive_number("logits_scaling", 1);
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
  };
}

}  // namespace trainx::architectures
