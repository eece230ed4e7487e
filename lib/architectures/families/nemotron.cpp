// Nemotron-4 and Minitron (arXiv:2407.14679).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void nemotron(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096, .default_activation = "relu2"});
  r.layer_norm(true, true);
  r.epsilon("norm_eps", 1e-5);
  d.norm_offset = 1;
  r.attention_bias();
  r.plain_mlp({"mlp.up_proj"}, "mlp.down_proj");
  r.mlp_bias();
  r.dropout("hidden_dropout");
  r.rope({.rotated = 0.5, .turns_parts = true});
}

}  // namespace

std::vector<Family> nemotron_families() {
  return {
      {"nemotron",
       "Nemotron and Minitron: LayerNorm with 1 + weight, a squared ReLU",
       nemotron,
       {{"4b", R"({"hidden_size": 3072, "intermediate_size": 9216, "num_hidden_layers": 32,
                   "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128,
                   "vocab_size": 256000, "max_position_embeddings": 4096})"}}},
  };
}

}  // namespace trainx::architectures
