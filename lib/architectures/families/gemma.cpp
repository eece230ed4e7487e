// Gemma (arXiv:2403.08295), 2 (2408.00118) and 3 (2503.19786): their text models.
#include "architectures/families/family.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::architectures {
namespace {

void any_gemma(FamilyReader& r, DecoderDims& d, const char* activation, std::int64_t max_positions,
               std::int64_t key_value_heads) {
  r.sizes({.max_positions = max_positions,
           .key_value_heads = key_value_heads,
           .head_size = 256,
           .tied = true,
           .activation = activation,
           .default_activation = "gelu_pytorch_tanh"});
  r.epsilon("rms_norm_eps", 1e-6);
  d.norm_offset = 1;
  d.embedding_scale = std::sqrt(static_cast<double>(d.hidden_size));
  r.attention_bias();
  r.file().require("use_bidirectional_attention", {false});
}

void caps(FamilyReader& r, DecoderDims& d, double scores, double logits) {
  d.score_scale = 1 / std::sqrt(r.positive_number("query_pre_attn_scalar", 256));
  d.score_cap = r.file().is_null("attn_logit_softcapping")
                    ? 0
                    : r.positive_number("attn_logit_softcapping", scores);
  d.logit_cap = r.file().is_null("final_logit_softcapping")
                    ? 0
                    : r.positive_number("final_logit_softcapping", logits);
}

void gemma(FamilyReader& r, DecoderDims& d) {
  any_gemma(r, d, "hidden_act", 8192, 16);
  // the first files name a function of erf that was never computed
  const auto* named = r.file().find("hidden_act");
  if (named && *named == "gelu") d.activation = operations::Activation::gelu_tanh;
  r.rope();
}

void gemma2(FamilyReader& r, DecoderDims& d) {
  any_gemma(r, d, "hidden_activation", 8192, 4);
  r.norms_around("pre_feedforward_layernorm");
  r.rope();
  r.windows(r.sliding(2), 4096);
  caps(r, d, 50, 30);
}

/// Windows have a rope of their own.
void gemma3(FamilyReader& r, DecoderDims& d) {
  any_gemma(r, d, "hidden_activation", 131072, 4);
  r.norms_around("pre_feedforward_layernorm");
  r.head_norms(DecoderDims::HeadNorms::head);
  const ConfigReader& f = r.file();
  const std::vector<bool> sliding =
      r.sliding(f.dimension("sliding_window_pattern", f.dimension("_sliding_window_pattern", 6)));
  r.windows(sliding, 4096);
  caps(r, d, 0, 0);
  d.score_cap = 0;  // transformers reads it and caps no scores
  d.ropes = {read_rope(f, "full_attention", d.max_positions, {.theta = 1000000}),
             read_rope(f, "sliding_attention", d.max_positions,
                       {.theta = 10000, .theta_key = "rope_local_base_freq"})};
  for (std::size_t i = 0; i < sliding.size(); ++i) d.layer_rope[i] = sliding[i] ? 1 : 0;
}

}  // namespace

std::vector<Family> gemma_families() {
  return {
      {"gemma",
       "Gemma 1: RMSNorm with 1 + weight, GeGLU, scaled embeddings",
       gemma,
       {{"2b", R"({"hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18,
                   "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256,
                   "vocab_size": 256000, "max_position_embeddings": 8192})"}}},
      {"gemma2",
       "Gemma 2: norms around branches, windows in every other layer, soft caps",
       gemma2,
       {{"2b", R"({"hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
                   "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                   "vocab_size": 256000, "max_position_embeddings": 8192,
                   "query_pre_attn_scalar": 256, "sliding_window": 4096,
                   "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})"}}},
      {"gemma3_text",
       "Gemma 3's text model: norms of heads, windows in five of six layers",
       gemma3,
       {{"270m", R"({"hidden_size": 640, "intermediate_size": 2048, "num_hidden_layers": 18,
                     "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
                     "vocab_size": 262144, "max_position_embeddings": 32768,
                     "query_pre_attn_scalar": 256, "sliding_window": 512})"},
        {"1b", R"({"hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26,
                   "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
                   "vocab_size": 262144, "max_position_embeddings": 32768,
                   "query_pre_attn_scalar": 256, "sliding_window": 512})"}}},
  };
}

}  // namespace trainx::architectures
