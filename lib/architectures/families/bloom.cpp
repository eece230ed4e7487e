// BLOOM (arXiv:2211.05100).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

/// Scores fall with distance instead of positions; the embedding is normed.
void bloom(FamilyReader& r, DecoderDims& d) {
  const ConfigReader& f = r.file();
  const auto spelled = [&](const char* usual, const char* other) {
    return f.find(usual) || !(f.find(other) || f.is_null(other)) ? usual : other;
  };
  r.sizes({.layers = spelled("n_layer", "num_hidden_layers"),
           .heads = spelled("n_head", "num_attention_heads"),
           .hidden = f.find("n_embed") ? "n_embed" : "hidden_size",
           .positions = "seq_length",
           .intermediate = nullptr,
           .max_positions = alibi_positions,
           .tied = true,
           .default_activation = "gelu_pytorch_tanh"});
  f.require("hidden_act", {"gelu_pytorch_tanh"});
  f.require("num_key_value_heads", {d.num_heads});
  f.require("intermediate_size", {d.intermediate_size});
  if (d.head_size * d.num_heads != d.hidden_size)
    f.fail("head_dim must be hidden_size / num_attention_heads");
  f.require("apply_residual_connection_post_layernorm", {false});
  // of how it was trained, and of how sums are cut
  for (const char* key : {"slow_but_exact", "hidden_size"}) f.find(key);
  d.pad_token = -1;  // its padding is a token like others
  d.alibi = d.fourfold_mlp = d.norms_embedding = d.by_head = true;
  d.qkv_bias = d.out_bias = d.mlp_bias = true;
  r.layer_norm(true, true);
  r.epsilon("layer_norm_epsilon", 1e-5);
  r.dropout("hidden_dropout");
  d.names.embedding = "transformer.word_embeddings";
  d.names.embedding_norm = "transformer.word_embeddings_layernorm";
  d.names.layers = "transformer.h";
  d.names.final_norm = "transformer.ln_f";
  d.names.qkv = {"self_attention.query_key_value"};
  d.names.out = "self_attention.dense";
  r.plain_mlp({"mlp.dense_h_to_4h"}, "mlp.dense_4h_to_h");
}

}  // namespace

std::vector<Family> bloom_families() {
  return {
      {"bloom",
       "BLOOM: LayerNorm, ALiBi, a normed embedding",
       bloom,
       {{"560m", R"({"hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880})"},
        {"1b7", R"({"hidden_size": 2048, "n_layer": 24, "n_head": 16, "vocab_size": 250880})"},
        {"7b1", R"({"hidden_size": 4096, "n_layer": 30, "n_head": 32, "vocab_size": 250880})"}}},
  };
}

}  // namespace trainx::architectures
