// StableLM (arXiv:2402.17834).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void stablelm(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096, .key_value_heads = 32});
  r.layer_norm(true, true);
  r.epsilon("layer_norm_eps", 1e-5);
  d.qkv_bias = r.flag("use_qkv_bias", false);
  if (r.flag("use_parallel_residual", false)) d.parallel = DecoderDims::Parallel::one_norm;
  r.dropout("hidden_dropout");
  r.rope({.rotated = 0.25, .turns_parts = true, .whole_pairs = true});
  if (!r.flag("qk_layernorm", false)) return;
  r.head_norms(DecoderDims::HeadNorms::each_head);
  d.separate_head_norms = true;
  d.names.query_norm = "self_attn.q_layernorm";
  d.names.key_norm = "self_attn.k_layernorm";
}

}  // namespace

std::vector<Family> stablelm_families() {
  return {
      {"stablelm",
       "StableLM: LayerNorm, rotary on a quarter of each head",
       stablelm,
       {{"1.6b", R"({"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
                     "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352,
                     "max_position_embeddings": 4096, "use_qkv_bias": true})"}}},
  };
}

}  // namespace trainx::architectures
