// Arcee (AFM).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

/// The gate is left out; ReLU is squared.
void arcee(FamilyReader& r, DecoderDims&) {
  r.sizes({.max_positions = 4096, .default_activation = "relu2"});
  r.epsilon("rms_norm_eps", 1e-5);
  r.attention_bias();
  r.plain_mlp({"mlp.up_proj"}, "mlp.down_proj");
  r.mlp_bias();
  r.rope();
}

}  // namespace

std::vector<Family> arcee_families() {
  return {
      {"arcee",
       "Llama with a squared ReLU instead of SwiGLU",
       arcee,
       {{"4.5b", R"({"hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 36,
                     "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
                     "vocab_size": 128004, "max_position_embeddings": 65536,
                     "rms_norm_eps": 1e-05})"}}},
  };
}

}  // namespace trainx::architectures
