// ModernBERT (Warner et al. 2024, arXiv:2412.13663): norms before branches, no biases, positions by
// rotation, a gated MLP, windows in most layers.
#include "architectures/families/encoder_family.hpp"
#include <string>

namespace trainx::architectures {
namespace {

using nlohmann::json;

void modernbert(ConfigKeys& keys, BertDims& d) {
  for (const char* key : {"hidden_activation", "classifier_activation"})
    keys.fixed(key, {"gelu", "gelu_python"});
  keys.fixed("tie_word_embeddings", {true});
  keys.dimension("num_hidden_layers", d.num_layers, 22);
  keys.dimension("num_attention_heads", d.num_heads, 12);
  keys.dimension("hidden_size", d.hidden_size, 768);
  keys.dimension("intermediate_size", d.intermediate_size, 1152);
  keys.dimension("vocab_size", d.vocab_size, 50368);
  keys.number("norm_eps", d.layer_norm_epsilon, 1e-5, positive());
  keys.flag("norm_bias", d.norm_shift, false);
  keys.flag("attention_bias", d.attention_bias, false);
  keys.flag("mlp_bias", d.mlp_bias, false);
  keys.flag("classifier_bias", d.head_bias, false);
  keys.flag("decoder_bias", d.decoder_bias, true);
  for (const char* key :
       {"embedding_dropout", "attention_dropout", "mlp_dropout", "classifier_dropout"})
    keys.require(key, {0.0});
  // of initial weights, of kernels, and of losses on fewer tokens
  keys.ignore({"initializer_cutoff_factor", "deterministic_flash_attn", "sparse_prediction",
               "sparse_pred_ignore_index"});
  keys.heads_divide("hidden_size", d.hidden_size, "num_attention_heads", d.num_heads);
  if (keys.file() && d.hidden_size / d.num_heads % 2 != 0)
    keys.file()->fail("hidden_size / num_attention_heads (" +
                      std::to_string(d.hidden_size / d.num_heads) + ") must be even");
  keys.write("initializer_range", d.initializer_range);
  pad_token(keys, d, 50283);
  std::int64_t positions = d.max_positions, window = 2 * (d.window - 1);
  // an odd number of keys is half of it on each side: it is kept as the folder has it
  if (!keys.file() && !d.config.empty())
    if (const json held = json::parse(d.config).value("local_attention", json());
        held.is_number_integer() && held.get<std::int64_t>() / 2 == window / 2)
      window = held;
  keys.dimension("max_position_embeddings", positions, 8192);
  keys.dimension("local_attention", window, 128);
  keys.fixed("classifier_pooling", {"cls", "mean"});
  if (const ConfigReader* file = keys.file()) {
    const json* pooling = file->find("classifier_pooling");
    d.pools_mean = pooling && *pooling == "mean";
    d.max_positions = positions;
    d.window = window / 2 + 1;
  }
  if (!keys.file()) keys.write("classifier_pooling", d.pools_mean ? "mean" : "cls");
  layers_of_both_kinds(keys, d);
}

}  // namespace

std::vector<EncoderFamily> modernbert_families() {
  EncoderNames names{.prefix = "model.",
                     .token = "embeddings.tok_embeddings",
                     .position = "",
                     .type = "",
                     .embedding_norm = "embeddings.norm",
                     .layers = "layers"};
  names.qkv = {"attn.Wqkv"};
  names.out = "attn.Wo";
  names.norm1 = "attn_norm";
  names.up = "mlp.Wi";
  names.down = "mlp.Wo";
  names.norm2 = "mlp_norm";
  names.final_norm = "final_norm";
  names.masked_lm = {.dense = "head.dense", .norm = "head.norm", .output = "decoder"};
  names.classification = names.token_classification = {
      .dense = "head.dense", .norm = "head.norm", .output = "classifier"};
  BertDims base{.num_layers = 22,
                .intermediate_size = 1152,
                .max_positions = 8192,
                .vocab_size = 50368,
                .type_vocab_size = 0,
                .layer_norm_epsilon = 1e-5};
  base.family = "modernbert";
  base.pad_token = 50283;
  base.norms_before = base.gated = base.pools_mean = true;
  base.norm_shift = base.attention_bias = base.mlp_bias = base.head_bias = false;
  base.window = 65;
  base.global_every = 3;
  base.global_rope.theta = 160000;
  BertDims large = base;
  large.num_layers = 28;
  large.num_heads = 16;
  large.hidden_size = 1024;
  large.intermediate_size = 2624;
  return {
      {.name = "modernbert",
       .summary = "ModernBERT: rotary positions, windows, gated MLP, 8,192 tokens (base, large)",
       .classes = "ModernBert",
       .names = names,
       .keys = modernbert,
       .dropouts = {"embedding_dropout", "attention_dropout", "classifier_dropout"},
       .sizes = {{"base", base}, {"large", large}}}};
}

}  // namespace trainx::architectures
