// Hunyuan, dense.
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

/// Queries and keys are normed after they turned.
void hunyuan(FamilyReader& r, DecoderDims& d) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-5);
  r.attention_bias();
  r.rope({.takes_alpha = true});
  r.head_norms(DecoderDims::HeadNorms::head);
  d.norms_after_rope = true;
  d.names.query_norm = "self_attn.query_layernorm";
  d.names.key_norm = "self_attn.key_layernorm";
}

}  // namespace

std::vector<Family> hunyuan_families() {
  return {
      {"hunyuan_v1_dense",
       "Llama with norms of queries and keys after rotary positions",
       hunyuan,
       {{"0.5b", R"({"hidden_size": 1024, "intermediate_size": 3584, "num_hidden_layers": 24,
                     "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
                     "vocab_size": 120818, "max_position_embeddings": 262144,
                     "tie_word_embeddings": true})"}}},
  };
}

}  // namespace trainx::architectures
