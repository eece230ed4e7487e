// OPT (arXiv:2205.01068).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void opt(FamilyReader& r, DecoderDims& d) {
  r.sizes({.intermediate = "ffn_dim",
           .tied = true,
           .activation = "activation_function",
           .default_activation = "relu"});
  const ConfigReader& f = r.file();
  f.require("num_key_value_heads", {d.num_heads});
  f.require("do_layer_norm_before", {true});
  f.require("_remove_final_layer_norm", {false});
  f.require("enable_bias", {true});
  f.require("layer_norm_elementwise_affine", {true});
  f.require("word_embed_proj_dim", {d.hidden_size});
  r.layer_norm(true, true);
  d.layer_norm_epsilon = 1e-5;
  d.qkv_bias = d.out_bias = d.mlp_bias = true;
  d.first_position = 2;
  d.names.embedding = "model.decoder.embed_tokens";
  d.names.position = "model.decoder.embed_positions";
  d.names.layers = "model.decoder.layers";
  d.names.final_norm = "model.decoder.final_layer_norm";
  d.names.norm1 = "self_attn_layer_norm";
  d.names.norm2 = "final_layer_norm";
  d.names.out = "self_attn.out_proj";
  r.plain_mlp({"fc1"}, "fc2");
  r.dropout("dropout", 0.1);
  r.left_out_dropout("layerdrop");
}

}  // namespace

std::vector<Family> opt_families() {
  return {
      {"opt",
       "OPT: LayerNorm, learned positions, ReLU",
       opt,
       {{"125m", R"({"hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12,
                     "num_attention_heads": 12, "vocab_size": 50272, "dropout": 0.0,
                     "max_position_embeddings": 2048, "word_embed_proj_dim": 768})"}}},
  };
}

}  // namespace trainx::architectures
