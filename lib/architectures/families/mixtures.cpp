// Decoders with experts: Mixtral (arXiv:2401.04088), Qwen (2407.10671, 2505.09388), OLMoE
// (2409.02060), Granite MoE, GLM-4.5 (2508.06471), dots.llm1 (2506.05767) and gpt-oss
// (2508.10925). DeepSeek's: deepseek.cpp.
#include "architectures/families/family.hpp"
#include <algorithm>

namespace trainx::architectures {
namespace {

using nlohmann::json;
using operations::Router;

std::vector<char> all_layers(const DecoderDims& d) {
  return std::vector<char>(static_cast<std::size_t>(d.num_layers), 1);
}

void mixtral(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 8});
  r.epsilon("rms_norm_eps", 1e-5);
  r.rope({.theta = 1e6});
  r.windows_everywhere();
  r.experts({.count = {"num_local_experts", "num_experts"},
             .usual_count = 8,
             .usual_per_token = 2,
             .features = nullptr,
             .router = {.normalized = true},
             .usual_loss = 0.001},
            all_layers(d));
  d.experts.names = {.router = "block_sparse_moe.gate",
                     .experts = "block_sparse_moe.experts",
                     .up = {"w1", "w3"},
                     .down = "w2"};
  d.names.in_class = {{"block_sparse_moe", "mlp"}};
}

/// Every decoder_sparse_step-th layer, but for mlp_only_layers.
std::vector<char> sparse_layers(const ConfigReader& file, const DecoderDims& d) {
  const std::int64_t step = file.dimension("decoder_sparse_step", 1);
  std::vector<char> out(static_cast<std::size_t>(d.num_layers));
  for (std::int64_t i = step - 1; i < d.num_layers; i += step) out[static_cast<std::size_t>(i)] = 1;
  const json* dense = file.find("mlp_only_layers");
  if (!dense) return out;
  const auto is_layer = [](const json& i) { return i.is_number_integer(); };
  if (!dense->is_array() || !std::ranges::all_of(*dense, is_layer))
    file.fail("mlp_only_layers must be a list of whole numbers");
  for (const json& i : *dense)
    if (const auto at = i.get<std::int64_t>(); at >= 0 && at < d.num_layers)
      out[static_cast<std::size_t>(at)] = 0;
  return out;
}

void qwen2_moe(FamilyReader& r, DecoderDims& d) {
  const ConfigReader& f = r.file();
  r.sizes({.max_positions = 32768, .key_value_heads = 16});
  r.epsilon("rms_norm_eps", 1e-6);
  d.qkv_bias = r.flag("qkv_bias", true);
  r.rope();
  // layers that slide are every second one of the first
  const bool slides = r.flag("use_sliding_window", false);
  const std::int64_t first = f.dimension("max_window_layers", 28);
  std::vector<bool> sliding = r.sliding(0);
  if (!f.find("layer_types"))
    for (std::size_t i = 0; i < sliding.size(); ++i)
      sliding[i] = i % 2 == 0 && static_cast<std::int64_t>(i) < first;
  // without them sliding_window is 0 in the file
  f.find("sliding_window");
  if (slides) r.windows(sliding, 4096);
  r.experts({.count = {"num_experts"},
             .usual_count = 60,
             .usual_per_token = 4,
             .usual_features = 1408,
             .router = {.normalized = r.flag("norm_topk_prob", false)},
             .usual_loss = 0.001},
            sparse_layers(f, d));
  if (!d.experts) return;
  d.experts.shared_features = f.dimension("shared_expert_intermediate_size", 5632);
  d.experts.names.shared = "mlp.shared_expert";
  d.experts.names.shared_gate = "mlp.shared_expert_gate";
}

void qwen3_moe(FamilyReader& r, DecoderDims& d) {
  const ConfigReader& f = r.file();
  r.sizes({.max_positions = 32768, .key_value_heads = 4});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.rope();
  r.head_norms(DecoderDims::HeadNorms::head);
  f.find("max_window_layers");
  f.find("sliding_window");
  if (r.flag("use_sliding_window", false)) r.windows_everywhere(4096);
  r.experts({.count = {"num_experts", "num_local_experts"},
             .usual_count = 128,
             .usual_per_token = 8,
             .usual_features = 768,
             .router = {.normalized = r.flag("norm_topk_prob", false)},
             .usual_loss = 0.001},
            sparse_layers(f, d));
}

void olmoe(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 4096});
  r.epsilon("rms_norm_eps", 1e-5);
  r.attention_bias();
  r.rope();
  r.head_norms(DecoderDims::HeadNorms::whole);
  if (r.file().find("clip_qkv")) d.clip = r.positive_number("clip_qkv", 0);
  r.experts({.count = {"num_experts", "num_local_experts"},
             .usual_count = 64,
             .usual_per_token = 8,
             .features = nullptr,
             .router = {.normalized = r.flag("norm_topk_prob", false)},
             .usual_loss = 0.01},
            all_layers(d));
}

void granitemoe(FamilyReader& r, DecoderDims& d) {
  r.sizes({});
  r.epsilon("rms_norm_eps", 1e-6);
  r.granite_scalars();
  r.experts({.count = {"num_local_experts"},
             .usual_count = 8,
             .usual_per_token = 2,
             .features = nullptr,
             .router = {.score = Router::Score::chosen_softmax},
             .usual_loss = 0.001},
            all_layers(d));
  d.experts.names = {.router = "block_sparse_moe.router.layer",
                     .up = {"block_sparse_moe.input_linear"},
                     .down = "block_sparse_moe.output_linear",
                     .stacked = true};
  d.names.in_class = {
      {"block_sparse_moe.input_linear.weight", "block_sparse_moe.experts.gate_up_proj"},
      {"block_sparse_moe.output_linear.weight", "block_sparse_moe.experts.down_proj"},
      {"block_sparse_moe.router.layer", "block_sparse_moe.router"}};
}

void glm4_moe(FamilyReader& r, DecoderDims& d) {
  r.sizes({.max_positions = 131072, .key_value_heads = 8});
  r.epsilon("rms_norm_eps", 1e-5);
  d.qkv_bias = r.flag("attention_bias", false);
  r.rope({.rotated = 0.5, .turns_parts = true});
  if (r.flag("use_qk_norm", false)) r.head_norms(DecoderDims::HeadNorms::head);
  r.grouped_experts({.keys = {.usual_count = 128,
                              .usual_per_token = 8,
                              .usual_features = 1408,
                              .router = {.normalized = true}},
                     .usual_dense = 1,
                     .usual_shared = 1,
                     .later_layers = true});
}

void dots1(FamilyReader& r, DecoderDims&) {
  r.sizes({.max_positions = 2048, .key_value_heads = 32});
  r.epsilon("rms_norm_eps", 1e-6);
  r.attention_bias();
  r.rope();
  r.head_norms(DecoderDims::HeadNorms::head);
  const ConfigReader& f = r.file();
  const std::int64_t first = f.dimension("max_window_layers", 62);
  std::vector<bool> sliding = r.sliding(0);
  if (!f.find("layer_types"))
    for (std::size_t i = 0; i < sliding.size(); ++i)
      sliding[i] = static_cast<std::int64_t>(i) >= first;
  r.windows(sliding, 4096);
  r.grouped_experts({.keys = {.usual_features = 1408}});
}

/// Experts may be in mxfp4, which is read (state/mxfp4.hpp) and not written.
void quantization(const ConfigReader& file) {
  const json* const how = file.find("quantization_config");
  if (!how) return;
  const auto method = how->is_object() ? how->find("quant_method") : how->end();
  if (!how->is_object() || method == how->end() || *method != "mxfp4")
    file.fail("quantization_config must be of quant_method mxfp4");
}

void gpt_oss(FamilyReader& r, DecoderDims& d) {
  const ConfigReader& f = r.file();
  r.sizes({.max_positions = 131072, .key_value_heads = 8, .head_size = 64});
  f.require("hidden_act", {"silu"});
  r.epsilon("rms_norm_eps", 1e-5);
  r.attention_bias(true);
  // without them transformers stretches positions by 32
  const json* scaling = f.find("rope_scaling");
  if (!f.find("rope_parameters") && (!scaling || scaling->empty()))
    f.fail("rope_parameters is missing");
  r.rope({.theta = 150000});
  r.windows(r.sliding(2), 128);
  d.names.sinks = "self_attn.sinks";
  quantization(f);
  const double alpha = r.positive_number("swiglu_alpha", 1.702),
               limit = r.positive_number("swiglu_limit", 7);
  r.experts({.count = {"num_local_experts", "num_experts"},
             .usual_count = 128,
             .usual_per_token = 4,
             .features = nullptr,
             .router = {.score = Router::Score::chosen_softmax},
             .usual_loss = 0.001},
            all_layers(d));
  d.experts.biased = true;
  d.experts.clamped = operations::ClampedGated{.alpha = alpha, .limit = limit};
  d.experts.names = {.router = "mlp.router",
                     .up = {"mlp.experts.gate_up_proj"},
                     .down = "mlp.experts.down_proj",
                     .stacked = true,
                     .transposed = true};
}

}  // namespace

std::vector<Family> mixture_families() {
  return {
      {"mixtral",
       "Mistral with 2 of 8 experts for each token",
       mixtral,
       {{"8x7b", R"({"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                     "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
                     "max_position_embeddings": 32768, "num_local_experts": 8,
                     "num_experts_per_tok": 2})"}}},
      {"qwen2_moe",
       "Qwen2 with experts, one of them for all tokens behind a gate",
       qwen2_moe,
       {{"a2.7b", R"({"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
                      "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 151936,
                      "max_position_embeddings": 8192, "num_experts": 60,
                      "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
                      "shared_expert_intermediate_size": 5632,
                      "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"}}},
      {"qwen3_moe",
       "Qwen3 with experts",
       qwen3_moe,
       {{"30b-a3b", R"({"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48,
                        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
                        "vocab_size": 151936, "max_position_embeddings": 40960,
                        "num_experts": 128, "num_experts_per_tok": 8,
                        "moe_intermediate_size": 768, "norm_topk_prob": true,
                        "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}})"}}},
      {"olmoe",
       "OLMoE: 8 of 64 experts, norms of all queries and keys",
       olmoe,
       {{"1b-7b", R"({"hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16,
                      "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 50304,
                      "max_position_embeddings": 4096, "num_experts": 64,
                      "num_experts_per_tok": 8})"}}},
      {"granitemoe",
       "Granite 3 with experts",
       granitemoe,
       {{"1b-a400m", R"({"hidden_size": 1024, "intermediate_size": 512, "num_hidden_layers": 24,
                         "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 49155,
                         "max_position_embeddings": 4096, "tie_word_embeddings": true,
                         "attention_multiplier": 0.015625, "residual_multiplier": 0.22,
                         "embedding_multiplier": 12.0, "logits_scaling": 6.0,
                         "num_local_experts": 32, "num_experts_per_tok": 8})"}}},
      {"glm4_moe",
       "GLM-4.5: a router of sigmoids with a correction, an expert for all tokens",
       glm4_moe,
       {{"air", R"({"hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
                    "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
                    "vocab_size": 151552, "max_position_embeddings": 131072,
                    "attention_bias": true, "n_routed_experts": 128, "num_experts_per_tok": 8,
                    "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0,
                                        "partial_rotary_factor": 0.5}})"}}},
      {"dots1",
       "dots.llm1: Qwen3 with DeepSeek-V3's experts",
       dots1,
       {{"142b", R"({"hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 62,
                     "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
                     "vocab_size": 152064, "max_position_embeddings": 32768,
                     "rms_norm_eps": 1e-05, "n_routed_experts": 128, "num_experts_per_tok": 6,
                     "n_shared_experts": 2, "moe_intermediate_size": 1408,
                     "first_k_dense_replace": 1, "routed_scaling_factor": 2.5,
                     "norm_topk_prob": true,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0}})"}}},
      {"gpt_oss",
       "gpt-oss: experts with limits and biases, sinks, windows in every second layer",
       gpt_oss,
       {{"20b", R"({"hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
                    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
                    "vocab_size": 201088, "max_position_embeddings": 131072,
                    "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
                    "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0,
                                        "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                                        "truncate": false,
                                        "original_max_position_embeddings": 4096}})"},
        {"120b", R"({"hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
                     "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
                     "vocab_size": 201088, "max_position_embeddings": 131072,
                     "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128,
                     "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0,
                                         "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                                         "truncate": false,
                                         "original_max_position_embeddings": 4096}})"}}},
  };
}

}  // namespace trainx::architectures
