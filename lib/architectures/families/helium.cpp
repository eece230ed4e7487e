// Helium.
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void helium(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096, .key_value_heads = 20, .head_size = 128});
  r.epsilon("rms_norm_eps", 1e-8);
  d.qkv_bias = r.flag("attention_bias", false);
  r.mlp_bias();
  r.rope({.theta = 100000});
  d.neighbours = true;
}

}  // namespace

std::vector<Family> helium_families() {
  return {
      {"helium",
       "Llama with interleaved rotary pairs",
       helium,
       {{"2b", R"({"hidden_size": 2560, "intermediate_size": 7040, "num_hidden_layers": 24,
                   "num_attention_heads": 20, "num_key_value_heads": 20, "head_dim": 128,
                   "vocab_size": 48000, "max_position_embeddings": 4096})"}}},
  };
}

}  // namespace trainx::architectures
