// Command R (Cohere) and its second edition.
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void any_cohere(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 8192, .tied = true});
  r.layer_norm(true, false);
  r.epsilon("layer_norm_eps", 1e-5);
  r.attention_bias();
  d.parallel = DecoderDims::Parallel::one_norm;
  d.neighbours = true;
  d.logit_scale = r.positive_number("logit_scale", 0.0625);
}

void cohere(FamilyReader& r, DecoderDims& d) {
  any_cohere(r, d);
  r.rope({.theta = 500000});
  if (r.flag("use_qk_norm", false)) r.head_norms(DecoderDims::HeadNorms::each_head);
}

/// Layers of a window alone know positions.
void cohere2(FamilyReader& r, DecoderDims& d) {
  any_cohere(r, d);
  r.rope();
  const auto pattern = r.file().dimension("sliding_window_pattern",
                                          r.file().dimension("_sliding_window_pattern", 4));
  const std::vector<bool> sliding = r.sliding(pattern);
  r.windows(sliding, 4096);
  for (std::size_t i = 0; i < sliding.size(); ++i)
    if (!sliding[i] || d.windows[i] == 0) d.layer_rope[i] = -1;
}

}  // namespace

std::vector<Family> cohere_families() {
  return {
      {"cohere",
       "Command R: LayerNorm without bias, attention and MLP side by side, scaled logits",
       cohere,
       {{"35b", R"({"hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
                    "num_attention_heads": 64, "vocab_size": 256000,
                    "max_position_embeddings": 8192,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 8000000.0}})"}}},
      {"cohere2",
       "Command R7B: Cohere with windows in three of four layers",
       cohere2,
       {{"7b", R"({"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                   "vocab_size": 256000, "max_position_embeddings": 8192, "logit_scale": 0.25,
                   "sliding_window": 4096,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0}})"}}},
  };
}

}  // namespace trainx::architectures
