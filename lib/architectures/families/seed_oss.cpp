// Seed-OSS.
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void seed_oss(FamilyReader& r, DecoderDims& d) {
  r.sizes(
      {.max_positions = 524288, .key_value_heads = 8, .head_size = 128, .attention_dropout = 0.1});
  r.epsilon("rms_norm_eps", 1e-6);
  d.qkv_bias = r.flag("attention_bias", true);
  d.out_bias = r.flag("attention_out_bias", false);
  r.mlp_bias();
  r.dropout("residual_dropout", 0.1);
  r.rope();
}

}  // namespace

std::vector<Family> seed_oss_families() {
  return {
      {"seed_oss",
       "Llama with biases of queries, keys and values",
       seed_oss,
       {{"36b", R"({"hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
                    "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128,
                    "vocab_size": 155136, "max_position_embeddings": 524288,
                    "rms_norm_eps": 1e-06, "residual_dropout": 0.0, "attention_dropout": 0.0,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 1e7}})"}}},
  };
}

}  // namespace trainx::architectures
