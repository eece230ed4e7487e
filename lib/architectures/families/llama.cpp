// Llama (arXiv:2302.13971, 2407.21783).
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

void llama(FamilyReader& r, DecoderDims&) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.mlp_bias();
  r.rope();
}

}  // namespace

std::vector<Family> llama_families() {
  return {
      {"llama",
       "Llama 2 and 3, SmolLM, TinyLlama and their like: RMSNorm, rotary positions, SwiGLU",
       llama,
       {{"1b", R"({"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
                   "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05,
                   "tie_word_embeddings": true, "rope_parameters": {"rope_type": "llama3",
                   "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})"},
        {"8b", R"({"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                   "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05,
                   "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0,
                   "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}})"}}},
  };
}

}  // namespace trainx::architectures
