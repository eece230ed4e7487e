// EXAONE 4 (arXiv:2507.11407).
#include "architectures/families/family.hpp"
#include <vector>

namespace trainx::architectures {
namespace {

/// Queries and keys are normed, branches' results instead of what goes in; layers of a window alone
/// know positions.
void exaone4(FamilyReader& r, DecoderDims& d) {
  r.sizes({.key_value_heads = 32});
  r.epsilon("rms_norm_eps", 1e-5);
  r.rope();
  r.head_norms(DecoderDims::HeadNorms::head);
  r.norms_after_only();
  const bool slides = !r.file().is_null("sliding_window");
  const auto pattern = r.file().find("layer_types")
                           ? std::int64_t{0}
                           : r.file().dimension("sliding_window_pattern", 4);
  r.file().find("sliding_window_pattern");
  const std::vector<bool> sliding = r.sliding(slides ? pattern : 0);
  r.windows(sliding, 4096);
  for (std::size_t i = 0; slides && i < sliding.size(); ++i)
    if (!sliding[i]) d.layer_rope[i] = -1;
}

}  // namespace

std::vector<Family> exaone_families() {
  return {
      {"exaone4",
       "Norms of branches' results and of heads; windows in three of four layers",
       exaone4,
       {{"1.2b", R"({"hidden_size": 2048, "intermediate_size": 4096, "num_hidden_layers": 30,
                     "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
                     "vocab_size": 102400, "max_position_embeddings": 65536,
                     "sliding_window": null, "tie_word_embeddings": true,
                     "rope_parameters": {"rope_type": "llama3", "rope_theta": 1000000.0,
                     "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 8192}})"}}},
  };
}

}  // namespace trainx::architectures
