// GPT-NeoX (arXiv:2204.06745) and Pythia (2304.01373).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void gpt_neox(FamilyReader& r, DecoderDims& d) {
  r.sizes({.default_activation = "gelu"});
  d.pad_token = -1;  // its padding is a token like others
  r.file().require("num_key_value_heads", {d.num_heads});
  r.layer_norm(true, true);
  r.epsilon("layer_norm_eps", 1e-5);
  d.parallel = r.flag("use_parallel_residual", true) ? DecoderDims::Parallel::two_norms
                                                     : DecoderDims::Parallel::no;
  r.attention_bias(true);
  d.mlp_bias = true;
  d.by_head = true;
  d.names.embedding = "gpt_neox.embed_in";
  d.names.layers = "gpt_neox.layers";
  d.names.final_norm = "gpt_neox.final_layer_norm";
  // the name of the first edition, which folders keep
  d.names.head = "embed_out";
  d.names.in_class = {{"embed_out", "lm_head"}};
  d.names.qkv = {"attention.query_key_value"};
  d.names.out = "attention.dense";
  r.plain_mlp({"mlp.dense_h_to_4h"}, "mlp.dense_4h_to_h");
  r.dropout("hidden_dropout");
  r.rope({.rotated = 0.25,
          .theta_key = "rotary_emb_base",
          .rotated_key = "rotary_pct",
          .turns_parts = true});
}

}  // namespace

std::vector<Family> gpt_neox_families() {
  return {
      {"gpt_neox",
       "GPT-NeoX and Pythia: LayerNorm, attention and MLP side by side",
       gpt_neox,
       {{"70m", R"({"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6,
                    "num_attention_heads": 8, "vocab_size": 50304,
                    "max_position_embeddings": 2048})"},
        {"160m", R"({"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                     "num_attention_heads": 12, "vocab_size": 50304,
                     "max_position_embeddings": 2048})"},
        {"1.4b", R"({"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
                     "num_attention_heads": 16, "vocab_size": 50304,
                     "max_position_embeddings": 2048})"}}},
  };
}

}  // namespace trainx::architectures
