// Mistral (arXiv:2310.06825) and Ministral: Llama with windows over keys.
#include "architectures/families/family.hpp"
#include <vector>

namespace trainx::architectures {
namespace {

void mistral(FamilyReader& r, DecoderDims&) {
  r.sizes({.max_positions = 131072, .key_value_heads = 8});
  r.epsilon("rms_norm_eps", 1e-6);
  r.rope();
  r.windows_everywhere(4096);
}

void ministral(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 8});
  r.epsilon("rms_norm_eps", 1e-6);
  r.rope();
  std::vector<bool> sliding(static_cast<std::size_t>(d.num_layers), true);
  r.windows(r.file().find("layer_types") ? r.sliding(0) : sliding, 4096);
}

}  // namespace

std::vector<Family> mistral_families() {
  return {
      {"mistral",
       "Llama with a window over keys",
       mistral,
       {{"7b", R"({"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                   "vocab_size": 32000, "max_position_embeddings": 32768, "rms_norm_eps": 1e-05,
                   "sliding_window": 4096})"}}},
      {"ministral",
       "Mistral with windows in some layers",
       ministral,
       {{"8b", R"({"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                   "vocab_size": 131072, "max_position_embeddings": 32768, "rms_norm_eps": 1e-05,
                   "sliding_window": 32768,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 1e8}})"}}},
  };
}

}  // namespace trainx::architectures
