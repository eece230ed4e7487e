// ModernBERT (Warner et al. 2024, arXiv:2412.13663): norms before branches, no biases, positions by
// rotation, a gated MLP, windows in most layers.
#include "architectures/families/encoder_family.hpp"
#include <string>

namespace trainx::architectures {
namespace {

using nlohmann::json;

const char* const kinds[] = {"sliding_attention", "full_attention"};

/// Which layers look everywhere: by name, or every so many.
void layer_types(ConfigKeys& keys, BertDims& d) {
  const ConfigReader* file = keys.file();
  if (!file) {
    json names = json::array();
    for (std::int64_t i = 0; i < d.num_layers; ++i) names.push_back(kinds[d.looks_everywhere(i)]);
    return keys.write("layer_types", names);
  }
  d.global_every = file->dimension("global_attn_every_n_layers", 3);
  const json* names = file->find("layer_types");
  if (!names) return;
  if (!names->is_array() || std::ssize(*names) != d.num_layers)
    file->fail("layer_types must be a list of num_hidden_layers names");
  for (const json& name : *names) {
    if (name != kinds[0] && name != kinds[1])
      file->fail("layer_types has " + shown(name) +
                 "; a layer is sliding_attention or full_attention");
    d.global_layers.push_back(name == kinds[1]);
  }
  bool regular = true;
  for (std::int64_t i = 0; i < d.num_layers; ++i)
    regular &= d.looks_everywhere(i) == (i % d.global_every == 0);
  if (regular) d.global_layers.clear();
}

Rope rope_of(const ConfigReader& file, const char* kind, const char* old_key, double theta,
             std::int64_t max_positions) {
  const Rope rope =
      read_rope(file, kind, max_positions, {.theta = file.number(old_key, theta, positive())});
  if (rope.kind != Rope::Kind::plain || rope.rotated != 1)
    file.fail("rope_parameters: trainx computes only rope_type default for a modernbert");
  return {.theta = rope.theta};
}

void ropes(ConfigKeys& keys, BertDims& d) {
  if (const ConfigReader* file = keys.file()) {
    d.local_rope = rope_of(*file, kinds[0], "local_rope_theta", 10000, d.max_positions);
    d.global_rope = rope_of(*file, kinds[1], "global_rope_theta", 160000, d.max_positions);
    return;
  }
  json both;
  for (const auto& [kind, rope] : {std::pair{kinds[0], &d.local_rope}, {kinds[1], &d.global_rope}})
    both[kind] = {{"rope_type", "default"}, {"rope_theta", rope->theta}};
  keys.write("rope_parameters", both);
}

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
  keys.heads_divide("hidden_size", d.hidden_size, "num_attention_heads", d.num_heads);
  if (keys.file() && d.hidden_size / d.num_heads % 2 != 0)
    keys.file()->fail("hidden_size / num_attention_heads (" +
                      std::to_string(d.hidden_size / d.num_heads) + ") must be even");
  keys.write("initializer_range", d.initializer_range);
  pad_token(keys, d, 50283);
  std::int64_t positions = d.max_positions, window = 2 * (d.window - 1);
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
  layer_types(keys, d);
  ropes(keys, d);
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
  base.mask_token = 50284;
  base.special_tokens = {50279, 50280, 50281, 50282, 50283, 50284};
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
  return {{.name = "modernbert",
           .summary = "ModernBERT: rotary positions, windows, gated MLP, 8,192 tokens",
           .classes = "ModernBert",
           .names = names,
           .keys = modernbert,
           .dropouts = {"embedding_dropout", "attention_dropout", "classifier_dropout"},
           .sizes = {{"base", base}, {"large", large}}}};
}

}  // namespace trainx::architectures
