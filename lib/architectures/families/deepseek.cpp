// Multi-head latent attention: DeepSeek-V2 (arXiv:2405.04434) and V3 (2412.19437) whose layers are
// dense, Youtu-LLM and MiniCPM3.
#include "architectures/families/family.hpp"
#include <cmath>

namespace trainx::architectures {
namespace {

/// Layers from first_k_dense_replace on have experts.
void require_dense(FamilyReader& r, const DecoderDims& d, std::int64_t usual) {
  const ConfigReader& f = r.file();
  const nlohmann::json* first = f.find("first_k_dense_replace");
  const std::int64_t dense = first && first->is_number_integer() ? first->get<std::int64_t>()
                                                                 : usual;
  if (dense < d.num_layers && !f.is_null("n_routed_experts"))
    f.fail("first_k_dense_replace is " + std::to_string(dense) +
           ": layers from there on have experts, which trainx does not compute");
  for (const char* key :
       {"n_routed_experts", "n_shared_experts", "num_experts", "num_local_experts",
        "num_experts_per_tok", "moe_intermediate_size", "moe_layer_freq", "routed_scaling_factor",
        "n_group", "topk_group", "topk_method", "norm_topk_prob", "scoring_func", "aux_loss_alpha",
        "seq_aux", "ep_size", "output_router_logits", "num_nextn_predict_layers", "num_mtp_layers"})
    f.find(key);
}

constexpr Latent deepseek{
    .query_rank = 1536, .key_value_rank = 512, .plain = 128, .rope = 64, .value_size = 128};

void deepseek_v2(FamilyReader& r, DecoderDims& d) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-6);
  r.latent_attention(deepseek);
  r.mlp_bias();
  require_dense(r, d, 0);
  r.file().find("rope_interleave");
  d.neighbours = true;
}

void deepseek_v3(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096, .key_value_heads = 128});
  r.epsilon("rms_norm_eps", 1e-6);
  r.latent_attention(deepseek);
  require_dense(r, d, 3);
  d.neighbours = r.flag("rope_interleave", true);
}

void youtu(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 16, .tied = true});
  r.epsilon("rms_norm_eps", 1e-6);
  r.latent_attention(deepseek);
  d.neighbours = r.flag("rope_interleave", true);
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
       "DeepSeek-V2 without experts: latent attention",
       deepseek_v2,
       {{"lite-dense", R"({"hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27,
                    "num_attention_heads": 16, "vocab_size": 102400, "q_lora_rank": null,
                    "max_position_embeddings": 163840, "first_k_dense_replace": 27})"}}},
      {"deepseek_v3",
       "DeepSeek-V3 without experts: latent attention",
       deepseek_v3,
       {{"lite-dense", R"({"hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27,
                    "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 129280,
                    "max_position_embeddings": 163840, "first_k_dense_replace": 27})"}}},
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
