// GLM-4 (arXiv:2406.12793), its first edition and that of 2025.
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void glm(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 2, .head_size = 128});
  r.epsilon("rms_norm_eps", 1.5625e-7);
  d.qkv_bias = r.flag("attention_bias", true);
  d.names.up = {"mlp.gate_up_proj"};
  r.rope({.rotated = 0.5, .turns_parts = true});
  d.neighbours = true;
}

void glm4(FamilyReader& r, DecoderDims& d) {
  glm(r, d);
  d.norms_after = true;
  d.names.post1 = "post_self_attn_layernorm";
  d.names.post2 = "post_mlp_layernorm";
}

}  // namespace

std::vector<Family> glm_families() {
  return {
      {"glm",
       "GLM-4-9B: Llama with interleaved rotary pairs on half of each head",
       glm,
       {{"9b", R"({"hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
                   "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
                   "vocab_size": 151552, "max_position_embeddings": 131072})"}}},
      {"glm4",
       "GLM-4-0414: GLM-4 with norms around branches",
       glm4,
       {{"9b", R"({"hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
                   "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
                   "vocab_size": 151552, "max_position_embeddings": 32768,
                   "rms_norm_eps": 1e-05})"}}},
  };
}

}  // namespace trainx::architectures
