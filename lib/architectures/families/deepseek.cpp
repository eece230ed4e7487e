// Multi-head latent attention: DeepSeek-V2 (arXiv:2405.04434) and V3 (2412.19437), Youtu-LLM and
// MiniCPM3.
#include "architectures/families/family.hpp"
#include <cmath>

namespace trainx::architectures {
namespace {

constexpr Latent deepseek{
    .query_rank = 1536, .key_value_rank = 512, .plain = 128, .rope = 64, .value_size = 128};

void deepseek_v2(FamilyReader& r, DecoderDims& d) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-6);
  r.latent_attention(deepseek);
  r.mlp_bias();
  d.neighbours = true;
  r.file().require("topk_method", {"greedy", "group_limited_greedy"});
  const nlohmann::json* method = r.file().find("topk_method");
  const bool by_groups = method && *method == "group_limited_greedy";
  if (by_groups)  // of them transformers has no usual numbers
    for (const char* key : {"n_group", "topk_group"}) r.file().dimension(key);
  // transformers divides no weights by their sum, whatever norm_topk_prob says
  r.grouped_experts({.keys = {.count = {"n_routed_experts", "num_experts"},
                              .usual_count = 64,
                              .usual_features = 1407},
                     .usual_shared = 2,
                     .corrects = false,
                     .groups = by_groups});
}

void deepseek_v3(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096, .key_value_heads = 128});
  r.epsilon("rms_norm_eps", 1e-6);
  r.latent_attention(deepseek);
  d.neighbours = r.file().nullable_flag("rope_interleave", true);
  r.grouped_experts(
      {.keys = {.usual_count = 256,
                .usual_per_token = 8,
                .usual_features = 2048,
                .router = {.normalized = true, .scale = 2.5, .groups = 8, .kept_groups = 4}},
       .usual_dense = 3,
       .usual_shared = 1,
       .later_layers = true});
}

void youtu(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 16, .tied = true});
  r.epsilon("rms_norm_eps", 1e-6);
  r.latent_attention(deepseek);
  d.neighbours = r.file().nullable_flag("rope_interleave", true);
  r.file().find("embedding_initializer_range");
}

/// Embeddings, branches and logits are scaled.
void minicpm3(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 32768, .key_value_heads = 40, .tied = true});
  r.epsilon("rms_norm_eps", 1e-5);
  r.latent_attention({.query_rank = 768,
                      .key_value_rank = 256,
                      .plain = 64,
                      .rope = 32,
                      .value_size = d.hidden_size / d.num_heads});
  r.mlp_bias();
  const ConfigReader& f = r.file();
  const auto root = std::sqrt(static_cast<double>(d.num_layers));
  d.embedding_scale = r.positive_number("scale_emb", 12);
  d.branch_scale = f.is_null("scale_depth") ? 1 : r.positive_number("scale_depth", 1.4) / root;
  const std::int64_t base = f.is_null("dim_model_base") ? d.hidden_size
                                                        : f.dimension("dim_model_base", 256);
  d.logit_scale = static_cast<double>(base) / static_cast<double>(d.hidden_size);
}

}  // namespace

std::vector<Family> deepseek_families() {
  return {
      {"deepseek_v2",
       "DeepSeek-V2: latent attention, experts",
       deepseek_v2,
       {{"lite-dense", R"({"hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27,
                    "num_attention_heads": 16, "vocab_size": 102400, "q_lora_rank": null,
                    "max_position_embeddings": 163840, "first_k_dense_replace": 27})"},
        {"lite", R"({"hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27,
                     "num_attention_heads": 16, "vocab_size": 102400, "q_lora_rank": null,
                     "max_position_embeddings": 163840, "first_k_dense_replace": 1,
                     "n_routed_experts": 64, "num_experts_per_tok": 6, "n_shared_experts": 2,
                     "moe_intermediate_size": 1408})"}}},
      {"deepseek_v3",
       "DeepSeek-V3: latent attention, experts in groups",
       deepseek_v3,
       {{"lite-dense", R"({"hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27,
                    "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 129280,
                    "max_position_embeddings": 163840, "first_k_dense_replace": 27})"},
        {"16b-a3b", R"({"hidden_size": 2048, "intermediate_size": 11264, "num_hidden_layers": 27,
                        "num_attention_heads": 16, "num_key_value_heads": 16,
                        "vocab_size": 163840, "q_lora_rank": null,
                        "max_position_embeddings": 8192, "rms_norm_eps": 1e-05,
                        "first_k_dense_replace": 1, "n_routed_experts": 64,
                        "num_experts_per_tok": 6, "n_shared_experts": 2, "n_group": 1,
                        "topk_group": 1, "moe_intermediate_size": 1408,
                        "routed_scaling_factor": 2.446,
                        "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0}})"}}},
      {"youtu",
       "Youtu-LLM: latent attention",
       youtu,
       {{"2b", R"({"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 32,
                   "num_attention_heads": 16, "vocab_size": 128256,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 1600000.0}})"}}},
      {"minicpm3",
       "MiniCPM3: latent attention, scaled embeddings, branches and logits",
       minicpm3,
       {{"4b", R"({"hidden_size": 2560, "intermediate_size": 6400, "num_hidden_layers": 62,
                   "num_attention_heads": 40, "num_key_value_heads": 40, "vocab_size": 73448,
                   "max_position_embeddings": 32768})"}}},
  };
}

}  // namespace trainx::architectures
