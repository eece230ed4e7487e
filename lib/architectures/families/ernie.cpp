// ERNIE 4.5.
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void ernie4_5(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 2, .head_size = 128, .tied = true});
  r.epsilon("rms_norm_eps", 1e-5);
  d.attention_dropout = 0;  // transformers reads none
  d.qkv_bias = d.out_bias = d.mlp_bias = r.flag("use_bias", false);
  r.rope({.theta = 500000});
  d.neighbours = true;
}

}  // namespace

std::vector<Family> ernie_families() {
  return {
      {"ernie4_5",
       "Llama with interleaved rotary pairs and tied embeddings",
       ernie4_5,
       {{"0.3b", R"({"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18,
                     "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 128,
                     "vocab_size": 103424, "max_position_embeddings": 131072})"}}},
  };
}

}  // namespace trainx::architectures
