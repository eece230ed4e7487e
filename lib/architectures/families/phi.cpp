// Phi-1 to 2 (arXiv:2309.05463), Phi-3 and 4 (2404.14219).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void phi(FamilyReader& r, DecoderDims& d) {
  r.sizes({.default_activation = "gelu_new"});
  r.layer_norm(true, true);
  r.epsilon("layer_norm_eps", 1e-5);
  d.parallel = DecoderDims::Parallel::one_norm;
  d.qkv_bias = d.out_bias = d.mlp_bias = d.head_bias = true;
  d.names.out = "self_attn.dense";
  d.names.final_norm = "model.final_layernorm";
  r.plain_mlp({"mlp.fc1"}, "mlp.fc2");
  r.dropout("resid_pdrop");
  r.left_out_dropout("embd_pdrop");
  r.rope({.rotated = 0.5, .turns_parts = true, .whole_pairs = true});
  if (!r.flag("qk_layernorm", false)) return;
  r.head_norms(DecoderDims::HeadNorms::head);
  d.head_norm_bias = true;
  d.names.query_norm = "self_attn.q_layernorm";
  d.names.key_norm = "self_attn.k_layernorm";
}

void phi3(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096});
  r.epsilon("rms_norm_eps", 1e-5);
  d.names.qkv = {"self_attn.qkv_proj"};
  d.names.up = {"mlp.gate_up_proj"};
  r.file().require("attention_bias", {false});
  r.dropout("resid_pdrop");
  r.file().find("embd_pdrop");  // which transformers does not apply
  r.rope({.turns_parts = true, .original_positions = 4096});
  for (const Rope& rope : d.ropes)
    if (rope.kind != Rope::Kind::plain && rope.kind != Rope::Kind::longrope)
      r.file().fail("rope_type of a phi3 must be default or longrope");
  r.windows_everywhere();
}

}  // namespace

std::vector<Family> phi_families() {
  return {
      {"phi",
       "Phi-1, 1.5 and 2: LayerNorm, attention and MLP side by side",
       phi,
       {{"1.3b", R"({"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
                     "num_attention_heads": 32, "vocab_size": 51200,
                     "max_position_embeddings": 2048})"}}},
      {"phi3",
       "Phi-3, 3.5 and 4: Llama with fused products",
       phi3,
       {{"3.8b", R"({"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
                     "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064,
                     "max_position_embeddings": 4096, "sliding_window": 2047})"}}},
  };
}

}  // namespace trainx::architectures
