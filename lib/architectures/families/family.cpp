#include "architectures/families/family.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::architectures {

using nlohmann::json;
using operations::Activation;

Activation activation_named(const ConfigReader& file, const char* key, const json& value) {
  const std::pair<const char*, Activation> known[] = {
      {"silu", Activation::silu},           {"swish", Activation::silu},
      {"gelu", Activation::gelu_erf},       {"gelu_python", Activation::gelu_erf},
      {"gelu_new", Activation::gelu_tanh},  {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh}, {"relu", Activation::relu},
      {"relu2", Activation::relu_squared}};
  for (const auto& [name, activation] : known)
    if (value == name) return activation;
  file.fail(std::string(key) + " is " + shown(value) +
            ", which trainx does not compute; only silu, gelu, gelu_pytorch_tanh, relu or relu2");
}

namespace {

Activation activation_of(const ConfigReader& file, const char* key, const char* otherwise) {
  const json* j = file.find(key);
  return activation_named(file, key, j ? *j : json(otherwise));
}

}  // namespace

void FamilyReader::sizes(const Keys& keys) {
  d_.num_layers = file_.dimension(keys.layers);
  d_.num_heads = file_.dimension(keys.heads);
  const auto absent = [&](const char* key, std::int64_t usual, std::int64_t otherwise) {
    return usual > 0 && !file_.is_null(key) ? usual : otherwise;
  };
  d_.num_key_value_heads = file_.dimension(
      "num_key_value_heads", absent("num_key_value_heads", keys.key_value_heads, d_.num_heads));
  d_.hidden_size = file_.dimension(keys.hidden);
  d_.intermediate_size = keys.intermediate ? file_.dimension(keys.intermediate)
                                           : 4 * d_.hidden_size;
  d_.max_positions = file_.dimension(keys.positions, keys.max_positions);
  d_.vocab_size = file_.dimension("vocab_size");
  const std::int64_t each = d_.hidden_size / d_.num_heads,
                     head = absent("head_dim", keys.head_size, each);
  d_.head_size = file_.dimension("head_dim", head < 1 ? std::optional<std::int64_t>() : head);
  if (!file_.find("head_dim") && head == each && d_.hidden_size % d_.num_heads != 0)
    file_.fail("hidden_size (" + std::to_string(d_.hidden_size) +
               ") must be a multiple of num_attention_heads (" + std::to_string(d_.num_heads) +
               "), or head_dim must be there");
  if (d_.num_heads % d_.num_key_value_heads != 0)
    file_.fail("num_attention_heads (" + std::to_string(d_.num_heads) +
               ") must be a multiple of num_key_value_heads (" +
               std::to_string(d_.num_key_value_heads) + ")");
  if (d_.num_layers > 100000) file_.fail("num_hidden_layers is too large");
  d_.tied = flag("tie_word_embeddings", keys.tied);
  d_.activation = activation_of(file_, keys.activation, keys.default_activation);
  if (const json* pad = file_.find("pad_token_id")) {
    if (!pad->is_number_integer()) file_.fail("pad_token_id must be a whole number");
    // an id beyond the table is no token's
    const auto id = pad->get<std::int64_t>();
    d_.pad_token = id >= 0 && id < d_.vocab_size ? id : -1;
  }
  d_.attention_dropout = file_.number("attention_dropout", keys.attention_dropout, unit_interval());
  d_.windows.assign(static_cast<std::size_t>(d_.num_layers), 0);
  d_.layer_rope.assign(static_cast<std::size_t>(d_.num_layers), -1);
  file_.require("pruned_heads", {json::object()});
}

void FamilyReader::epsilon(const char* key, double otherwise) {
  d_.layer_norm_epsilon = file_.number(key, otherwise, positive());
}

void FamilyReader::layer_norm(bool weight, bool shift) {
  d_.rms = false;
  d_.norm_weight = weight;
  d_.norm_shift = shift;
}

double FamilyReader::positive_number(const char* key, double otherwise) const {
  return file_.number(key, otherwise, positive());
}

void FamilyReader::rope(const RopeDefaults& defaults) {
  d_.ropes = {read_rope(file_, "", d_.max_positions, defaults)};
  const auto turn =
      static_cast<std::int64_t>(static_cast<double>(d_.head_size) * d_.ropes.front().rotated);
  if (defaults.whole_pairs && turn % 2 != 0)
    file_.fail("partial_rotary_factor of head_dim (" + std::to_string(d_.head_size) + ") is " +
               std::to_string(turn) + " elements, which must be even");
  std::ranges::fill(d_.layer_rope, 0);
}

std::vector<bool> FamilyReader::sliding(std::int64_t pattern) const {
  std::vector<bool> out;
  const json* types = file_.find("layer_types");
  if (!types) {
    for (std::int64_t i = 0; i < d_.num_layers; ++i)
      out.push_back(pattern > 0 && (i + 1) % pattern != 0);
    return out;
  }
  if (!types->is_array() || std::ssize(*types) != d_.num_layers)
    file_.fail("layer_types must be a list of num_hidden_layers (" + std::to_string(d_.num_layers) +
               ") kinds");
  for (const json& type : *types) {
    if (type != "sliding_attention" && type != "full_attention")
      file_.fail("layer_types has " + shown(type) +
                 ", which trainx does not compute; only full_attention or sliding_attention");
    out.push_back(type == "sliding_attention");
  }
  return out;
}

void FamilyReader::windows(const std::vector<bool>& sliding, std::int64_t otherwise) {
  std::int64_t window = otherwise;
  if (file_.is_null("sliding_window")) window = 0;
  const bool slides = std::ranges::find(sliding, true) != sliding.end();
  const json* there = file_.find("sliding_window");
  if (there && (slides || *there != 0)) window = file_.dimension("sliding_window");
  for (std::size_t i = 0; i < sliding.size(); ++i) d_.windows[i] = sliding[i] ? window : 0;
}

void FamilyReader::windows_everywhere(std::int64_t otherwise) {
  windows(std::vector<bool>(static_cast<std::size_t>(d_.num_layers), true), otherwise);
}

void FamilyReader::latent_attention(const Latent& usual) {
  Latent& l = d_.latent;
  // null: queries come from the layer's input
  l.query_rank = file_.is_null("q_lora_rank") ? 0
                                              : file_.dimension("q_lora_rank", usual.query_rank);
  l.key_value_rank = file_.dimension("kv_lora_rank", usual.key_value_rank);
  l.plain = file_.dimension("qk_nope_head_dim", usual.plain);
  l.rope = file_.dimension("qk_rope_head_dim", usual.rope);
  l.value_size = file_.dimension("v_head_dim", usual.value_size);
  l.bias = d_.out_bias = flag("attention_bias", false);
  for (const char* key : {"q_lora_rank", "qk_head_dim"}) file_.find(key);
  file_.require("head_dim", {l.rope});  // transformers turns that many elements
  if (l.rope % 2 != 0) file_.fail("qk_rope_head_dim (" + std::to_string(l.rope) + ") must be even");
  if (d_.num_key_value_heads != d_.num_heads)
    file_.fail("num_key_value_heads (" + std::to_string(d_.num_key_value_heads) +
               ") must be num_attention_heads (" + std::to_string(d_.num_heads) + ")");
  d_.head_size = l.plain + l.rope;
  rope({.head_size = l.rope});
  const Rope& turns = d_.ropes.front();
  const double stretch = turns.kind != Rope::Kind::plain && turns.mscale_all > 0
                             ? stretch_of_scores(turns.factor, turns.mscale_all)
                             : 1;
  d_.score_scale = stretch * stretch / std::sqrt(static_cast<double>(d_.head_size));
}

void FamilyReader::attention_bias(bool otherwise) {
  d_.qkv_bias = d_.out_bias = flag("attention_bias", otherwise);
}

void FamilyReader::dropout(const char* key, double otherwise) {
  d_.dropout = file_.number(key, otherwise, unit_interval());
  d_.dropout_key = key;
}

void FamilyReader::left_out_dropout(const char* key) {
  file_.number(key, 0, unit_interval());
  d_.left_out_dropout_key = key;
}

void FamilyReader::plain_mlp(std::vector<std::string> up, std::string down) {
  d_.gated = false;
  d_.names.up = std::move(up);
  d_.names.down = std::move(down);
}

void FamilyReader::norms_after_only() {
  d_.norms_before = false;
  d_.norms_after = true;
  d_.names.post1 = "post_attention_layernorm";
  d_.names.post2 = "post_feedforward_layernorm";
}

void FamilyReader::norms_around(const std::string& norm2) {
  d_.norms_after = true;
  d_.names.norm2 = norm2;
  d_.names.post1 = "post_attention_layernorm";
  d_.names.post2 = "post_feedforward_layernorm";
}

}  // namespace trainx::architectures
