// Qwen2 (arXiv:2407.10671) and Qwen3 (arXiv:2505.09388).
#include "architectures/families/family.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::architectures {
namespace {

/// The first max_window_layers layers see everything.
void qwen_windows(FamilyReader& r, DecoderDims& d) {
  const bool slides = r.flag("use_sliding_window", false);
  const std::int64_t from = r.file().dimension("max_window_layers", 28);
  std::vector<bool> sliding = r.sliding(0);
  if (!r.file().find("layer_types"))
    for (std::int64_t i = 0; i < d.num_layers; ++i)
      sliding[static_cast<std::size_t>(i)] = slides && i >= from;
  r.windows(sliding, slides ? 4096 : 0);
  if (!slides) std::ranges::fill(d.windows, 0);
}

void qwen2(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 32768, .key_value_heads = 32});
  r.epsilon("rms_norm_eps", 1e-6);
  d.qkv_bias = true;
  r.rope();
  qwen_windows(r, d);
}

void qwen3(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 32768, .key_value_heads = 32, .head_size = 128});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.rope();
  r.head_norms(DecoderDims::HeadNorms::head);
  qwen_windows(r, d);
}

}  // namespace

std::vector<Family> qwen_families() {
  return {
      {"qwen2",
       "Qwen2 and 2.5: Llama with biases of queries, keys and values",
       qwen2,
       {{"0.5b", R"({"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
                     "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936,
                     "max_position_embeddings": 32768, "tie_word_embeddings": true,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"},
        {"1.5b", R"({"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28,
                     "num_attention_heads": 12, "num_key_value_heads": 2, "vocab_size": 151936,
                     "max_position_embeddings": 131072, "tie_word_embeddings": true,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"},
        {"3b", R"({"hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
                   "num_attention_heads": 16, "num_key_value_heads": 2, "vocab_size": 151936,
                   "max_position_embeddings": 32768, "tie_word_embeddings": true,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"},
        {"7b", R"({"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
                   "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
                   "max_position_embeddings": 131072,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"}}},
      {"qwen3",
       "Qwen3: Llama with norms of queries and keys",
       qwen3,
       {{"0.6b", R"({"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
                     "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
                     "vocab_size": 151936, "max_position_embeddings": 40960,
                     "tie_word_embeddings": true,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"},
        {"1.7b", R"({"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
                     "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
                     "vocab_size": 151936, "max_position_embeddings": 40960,
                     "tie_word_embeddings": true,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"}}},
  };
}

}  // namespace trainx::architectures
