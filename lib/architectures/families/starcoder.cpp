// StarCoder2 (arXiv:2402.19173).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void starcoder2(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096,
           .key_value_heads = 2,
           .tied = true,
           .default_activation = "gelu_pytorch_tanh"});
  r.layer_norm(true, true);
  r.epsilon("norm_epsilon", 1e-5);
  d.qkv_bias = d.out_bias = d.mlp_bias = r.flag("use_bias", true);
  r.file().require("norm_type", {"layer_norm"});
  r.file().require("mlp_type", {"default"});
  r.plain_mlp({"mlp.c_fc"}, "mlp.c_proj");
  r.dropout("residual_dropout");
  r.left_out_dropout("embedding_dropout");
  r.rope();
  r.windows_everywhere();
}

}  // namespace

std::vector<Family> starcoder_families() {
  return {
      {"starcoder2",
       "StarCoder2: LayerNorm, GELU, windows",
       starcoder2,
       {{"3b", R"({"hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 30,
                   "num_attention_heads": 24, "num_key_value_heads": 2, "vocab_size": 49152,
                   "max_position_embeddings": 16384, "sliding_window": 4096,
                   "rope_parameters": {"rope_type": "default",
                   "rope_theta": 999999.4420358813}})"}}},
  };
}

}  // namespace trainx::architectures
