// Llama (arXiv:2302.13971, 2407.21783) and models whose layers are like its own.
#include "architectures/families/family.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::architectures {
namespace {

void llama(FamilyReader& r, DecoderDims&) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.mlp_bias();
  r.rope();
}

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

/// Every fourth layer knows no positions.
void smollm3(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 32768, .key_value_heads = 4, .tied = true});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.mlp_bias();
  r.rope({.theta = 2000000});
  const std::int64_t interval = r.file().dimension("no_rope_layer_interval", 4);
  const auto* layers = r.file().find("no_rope_layers");
  if (layers && (!layers->is_array() || std::ssize(*layers) != d.num_layers))
    r.file().fail("no_rope_layers must be a list of num_hidden_layers numbers");
  const auto listed = [&](const nlohmann::json& layer) {
    const bool has = layer == 1 || layer == true;
    if (!has && layer != 0 && layer != false)
      r.file().fail("no_rope_layers has " + shown(layer) + "; a layer is 0 or 1");
    return has;
  };
  for (std::int64_t i = 0; i < d.num_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool has = layers ? listed((*layers)[at]) : (i + 1) % interval != 0;
    d.layer_rope[at] = has ? 0 : -1;
  }
  // layers that know no positions slide, unless layer_types says which
  const bool slides = r.flag("use_sliding_window", false);
  std::vector<bool> sliding = r.sliding(0);
  if (!r.file().find("layer_types"))
    for (std::size_t i = 0; i < sliding.size(); ++i) sliding[i] = slides && d.layer_rope[i] < 0;
  r.windows(sliding);
}

/// The gate is left out; ReLU is squared.
void arcee(FamilyReader& r, DecoderDims&) {
  r.sizes({.max_positions = 4096, .default_activation = "relu2"});
  r.epsilon("rms_norm_eps", 1e-5);
  r.attention_bias();
  r.plain_mlp({"mlp.up_proj"}, "mlp.down_proj");
  r.mlp_bias();
  r.rope();
}

void seed_oss(FamilyReader& r, DecoderDims& d) {
  r.sizes(
      {.max_positions = 524288, .key_value_heads = 8, .head_size = 128, .attention_dropout = 0.1});
  r.epsilon("rms_norm_eps", 1e-6);
  d.qkv_bias = r.flag("attention_bias", true);
  d.out_bias = r.flag("attention_out_bias", false);
  r.mlp_bias();
  r.dropout("residual_dropout", 0.1);
  r.rope();
}

void helium(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096, .key_value_heads = 20, .head_size = 128});
  r.epsilon("rms_norm_eps", 1e-8);
  d.qkv_bias = r.flag("attention_bias", false);
  r.mlp_bias();
  r.rope({.theta = 100000});
  d.neighbours = true;
}

void ernie4_5(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 2, .head_size = 128, .tied = true});
  r.epsilon("rms_norm_eps", 1e-5);
  d.attention_dropout = 0;  // transformers reads none
  d.qkv_bias = d.out_bias = d.mlp_bias = r.flag("use_bias", false);
  r.rope({.theta = 500000});
  d.neighbours = true;
}

/// Queries and keys are normed after they turned.
void hunyuan(FamilyReader& r, DecoderDims& d) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-5);
  r.attention_bias();
  r.rope({.takes_alpha = true});
  r.head_norms(DecoderDims::HeadNorms::head);
  d.norms_after_rope = true;
  d.names.query_norm = "self_attn.query_layernorm";
  d.names.key_norm = "self_attn.key_layernorm";
}

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
      {"smollm3",
       "Llama with layers that know no positions",
       smollm3,
       {{"3b", R"({"hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
                   "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256,
                   "max_position_embeddings": 65536, "rms_norm_eps": 1e-06,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 5000000.0}})"}}},
      {"arcee",
       "Llama with a squared ReLU instead of SwiGLU",
       arcee,
       {{"4.5b", R"({"hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 36,
                     "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
                     "vocab_size": 128004, "max_position_embeddings": 65536,
                     "rms_norm_eps": 1e-05})"}}},
      {"seed_oss",
       "Llama with biases of queries, keys and values",
       seed_oss,
       {{"36b", R"({"hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
                    "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128,
                    "vocab_size": 155136, "max_position_embeddings": 524288,
                    "rms_norm_eps": 1e-06, "residual_dropout": 0.0, "attention_dropout": 0.0,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 1e7}})"}}},
      {"helium",
       "Llama that turns neighbours",
       helium,
       {{"2b", R"({"hidden_size": 2560, "intermediate_size": 7040, "num_hidden_layers": 24,
                   "num_attention_heads": 20, "num_key_value_heads": 20, "head_dim": 128,
                   "vocab_size": 48000, "max_position_embeddings": 4096})"}}},
      {"ernie4_5",
       "Llama that turns neighbours, with tied embeddings",
       ernie4_5,
       {{"0.3b", R"({"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18,
                     "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 128,
                     "vocab_size": 103424, "max_position_embeddings": 131072})"}}},
      {"hunyuan_v1_dense",
       "Llama whose queries and keys are normed after they turned",
       hunyuan,
       {{"0.5b", R"({"hidden_size": 1024, "intermediate_size": 3584, "num_hidden_layers": 24,
                     "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
                     "vocab_size": 120818, "max_position_embeddings": 262144,
                     "tie_word_embeddings": true})"}}},
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
