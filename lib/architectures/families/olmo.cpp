// OLMo (arXiv:2402.00838), 2 (2501.00656) and 3.
#include "architectures/families/family.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::architectures {
namespace {

void olmo(FamilyReader& r, DecoderDims& d) {
  r.sizes({});
  r.layer_norm(false, false);
  d.layer_norm_epsilon = 1e-5;
  r.attention_bias();
  r.rope();
  if (!r.file().is_null("clip_qkv")) d.clip = r.positive_number("clip_qkv", 0);
}

void olmo2(FamilyReader& r, DecoderDims&) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-5);
  r.attention_bias();
  r.rope();
  r.head_norms(DecoderDims::HeadNorms::whole);
  r.norms_after_only();
}

void olmo3(FamilyReader& r, DecoderDims& d) {
  olmo2(r, d);
  const ConfigReader& f = r.file();
  const std::vector<bool> sliding = r.sliding(4);
  r.windows(sliding, 4096);
  d.ropes = {
      read_rope(f, "full_attention", d.max_positions, {.theta = 500000}),
      read_rope(f, "sliding_attention", d.max_positions, {.theta = 500000, .theta_key = nullptr})};
  for (std::size_t i = 0; i < sliding.size(); ++i) d.layer_rope[i] = sliding[i] ? 1 : 0;
}

}  // namespace

std::vector<Family> olmo_families() {
  return {
      {"olmo",
       "OLMo 1: LayerNorm without parameters",
       olmo,
       {{"1b", R"({"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
                   "num_attention_heads": 16, "vocab_size": 50304, "tie_word_embeddings": true,
                   "max_position_embeddings": 2048})"}}},
      {"olmo2",
       "OLMo 2: norms of branches' results and of all queries and keys",
       olmo2,
       {{"1b", R"({"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
                   "num_attention_heads": 16, "vocab_size": 100352, "rms_norm_eps": 1e-06,
                   "max_position_embeddings": 4096,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}})"}}},
      {"olmo3",
       "OLMo 3: OLMo 2 with windows in three of four layers",
       olmo3,
       {{"7b", R"({"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                   "num_attention_heads": 32, "vocab_size": 100278, "rms_norm_eps": 1e-06,
                   "max_position_embeddings": 8192, "sliding_window": 4096})"}}},
  };
}

}  // namespace trainx::architectures
