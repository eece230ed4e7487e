// config.json of decoders, and what a recipe sets of them.
#include "architectures/config_reader.hpp"
#include "architectures/decoder.hpp"
#include "architectures/folder_config.hpp"
#include "architectures/families/family.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <numeric>

namespace trainx::architectures {

using nlohmann::json;

DecoderDims decoder_dims(const std::string& family, const std::string& text,
                         const std::string& path, ExitCode code) {
  const ConfigReader file(text, path, code);
  DecoderDims d{.family = family, .config = text};
  FamilyReader reader(file, d);
  family_named(families(), family).read(reader, d);
  file.refuse_unknown();
  const auto turns_wholly = [&](const Rope& r) {
    return static_cast<std::int64_t>(static_cast<double>(d.head_size) * r.rotated) == d.head_size;
  };
  if (!d.latent && d.head_size % 2 != 0 && std::ranges::any_of(d.ropes, turns_wholly))
    file.fail("head_dim (" + std::to_string(d.head_size) + ") must be even");
  return d;
}

const Sizes<DecoderDims>& sizes(const DecoderOptions& o) {
  static const auto all = sizes_by_family<DecoderDims>(
      families(), [](const std::string& family, const std::string& text, const std::string& path) {
        return decoder_dims(family, text, path);
      });
  return all.at(o.name);
}

std::vector<Dimension> dimensions(DecoderOptions& o, DecoderDims& d) {
  // heads that a recipe changes bring fewer keys, and other heads, along
  if (o.num_heads && !o.num_key_value_heads)
    d.num_key_value_heads = d.num_key_value_heads == d.num_heads
                                ? *o.num_heads
                                : std::gcd(*o.num_heads, d.num_key_value_heads);
  if (d.fourfold_mlp && !o.intermediate_size)
    d.intermediate_size = 4 * o.hidden_size.value_or(d.hidden_size);
  const bool divides = d.head_size * d.num_heads == d.hidden_size;
  const std::int64_t heads = o.num_heads.value_or(d.num_heads),
                     hidden = o.hidden_size.value_or(d.hidden_size);
  if (!o.head_size && divides && !d.latent && heads > 0 && hidden % heads == 0)
    d.head_size = hidden / heads;
  std::vector<Dimension> all{{"num_layers", o.num_layers, d.num_layers},
                             {"num_heads", o.num_heads, d.num_heads},
                             {"num_key_value_heads", o.num_key_value_heads, d.num_key_value_heads},
                             {"head_size", o.head_size, d.head_size},
                             {"hidden_size", o.hidden_size, d.hidden_size},
                             {"intermediate_size", o.intermediate_size, d.intermediate_size},
                             {"max_positions", o.max_positions, d.max_positions},
                             {"vocab_size", o.vocab_size, d.vocab_size}};
  if (d.experts) {
    all.push_back({"num_experts", o.num_experts, d.experts.router.experts});
    all.push_back({"num_experts_per_tok", o.num_experts_per_tok, d.experts.router.per_token});
  }
  return all;
}

void stretch_positions(DecoderOptions& o, DecoderDims& d, std::int64_t length) {
  if (o.rope_scaling == RopeScaling::none) return;
  const std::string kind(
      enum_names(o.rope_scaling)[static_cast<std::size_t>(o.rope_scaling)].second);
  const auto refuse = [&](const std::string& why) {
    throw UserError(ExitCode::invalid_recipe, "model.options.rope_scaling: " + kind + " " + why);
  };
  const std::int64_t trained = d.max_positions, wanted = o.max_positions.value_or(length);
  if (d.ropes.empty()) refuse("can have no effect: " + d.family + " has no rotary positions");
  if (d.ropes.size() > 1)
    refuse("is of one table of positions, and this " + d.family +
           " has one for each kind of layer");
  if (d.ropes.front().kind != Rope::Kind::plain)
    refuse("would stretch positions that config.json stretches already; leave it out");
  if (wanted <= trained)
    refuse("can have no effect: rows of " + std::to_string(wanted) + " tokens are within the " +
           std::to_string(trained) + " positions of config.json; leave it out");
  json config = json::parse(d.config);
  const bool grouped = config.contains("rope_parameters") && config["rope_parameters"].is_object(),
             scaled = config.contains("rope_scaling") && config["rope_scaling"].is_object() &&
                      !config["rope_scaling"].empty();  // which counts first
  json& rope = config[grouped && !scaled ? "rope_parameters" : "rope_scaling"];
  if (!rope.is_object()) rope = json::object();
  rope.erase("type");
  rope["rope_type"] = kind;
  rope["factor"] = static_cast<double>(wanted) / static_cast<double>(trained);
  if (o.rope_scaling == RopeScaling::yarn) rope["original_max_position_embeddings"] = trained;
  config["max_position_embeddings"] = wanted;
  d = decoder_dims(d.family, config.dump(2), "model.options", ExitCode::invalid_recipe);
}

namespace {

/// Its config.json with these sizes.
FolderConfig config_with(const DecoderDims& d) {
  FolderConfig config(d.config);
  if (config.values().value("num_hidden_layers", json()) != d.num_layers)
    for (const char* key : {"layer_types", "no_rope_layers", "layer_rope_theta"})
      config.values().erase(key);
  // layers from there on would have experts
  const char* const experts = "first_k_dense_replace";
  if (d.latent && !d.experts && config.has(experts) && config.values()[experts] < d.num_layers)
    config.put(experts, d.num_layers);
  config.put(config.spelled("n_layer", "num_hidden_layers"), d.num_layers);
  config.put(config.spelled("n_head", "num_attention_heads"), d.num_heads);
  if (d.num_key_value_heads != d.num_heads || config.has("num_key_value_heads") || d.latent)
    config.put("num_key_value_heads", d.num_key_value_heads);
  if (!d.latent && (d.head_size * d.num_heads != d.hidden_size || config.has("head_dim")))
    config.put("head_dim", d.head_size);
  config.put(config.spelled("n_embed", "hidden_size"), d.hidden_size);
  if (!d.fourfold_mlp || d.intermediate_size != 4 * d.hidden_size ||
      config.has("intermediate_size"))
    config.put(config.spelled("ffn_dim", "intermediate_size"), d.intermediate_size);
  if (config.has("word_embed_proj_dim")) config.put("word_embed_proj_dim", d.hidden_size);
  if (!d.alibi || d.max_positions != alibi_positions || config.has("seq_length"))
    config.put(d.alibi ? "seq_length" : "max_position_embeddings", d.max_positions);
  config.put("vocab_size", d.vocab_size);
  if (d.experts) {
    for (const std::string& key : d.experts.count_keys)
      config.put(key.c_str(), d.experts.router.experts);
    config.put("num_experts_per_tok", d.experts.router.per_token);
  }
  config.values().erase("quantization_config");  // weights are saved as they were read
  return config;
}

void take_router_settings(const DecoderOptions& o, DecoderDims& d) {
  const auto refuse = [](const std::string& key, const std::string& why) {
    throw UserError(ExitCode::invalid_recipe, "model.options." + key + " " + why);
  };
  for (const auto& [key, is_set] :
       {std::pair{"num_experts", o.num_experts.has_value()},
        std::pair{"num_experts_per_tok", o.num_experts_per_tok.has_value()},
        std::pair{"router_z_loss", o.router_z_loss > 0},
        std::pair{"router_bias_rate", o.router_bias_rate > 0}})
    if (is_set && !d.experts)
      refuse(key, "can have no effect: this " + d.family + " has no experts; remove it");
  if (o.router_z_loss > 0 && d.experts.router.score == operations::Router::Score::sigmoid)
    refuse("router_z_loss", "is a loss of routers with a softmax, and the router of " + d.family +
                                " has sigmoids; remove it (router_bias_rate balances experts)");
  if (o.router_bias_rate > 0 && d.experts.names.correction.empty())
    refuse("router_bias_rate", "needs a router with a correction of its choice, which " + d.family +
                                   " has not; remove it");
  d.experts.z_loss = o.router_z_loss;
  d.experts.balance_rate = o.router_bias_rate;
}

}  // namespace

void take_settings(DecoderOptions& o, DecoderDims& d) {
  if (const std::int64_t fixed = d.latent.plain + d.latent.rope;
      d.latent && o.head_size.value_or(fixed) != fixed)
    throw UserError(ExitCode::invalid_recipe,
                    "model.options.head_size can have no effect: a head of " + d.family + " has " +
                        std::to_string(d.latent.plain) + " + " + std::to_string(d.latent.rope) +
                        " elements (qk_nope_head_dim + qk_rope_head_dim): remove it");
  DecoderDims settled =
      decoder_dims(d.family, config_with(d).text(), "model.options", ExitCode::invalid_recipe);
  settled.tied = d.tied;  // an adapter of the folder may have parted them (own_head.hpp)
  take_settings<DecoderOptions, DecoderDims>(o, settled);
  take_router_settings(o, settled);
  d = std::move(settled);
}

std::string decoder_config_text(const DecoderDims& d, DType saved) {
  FolderConfig config = config_with(d);
  const DecoderDims read = decoder_dims(d.family, config.text(), "config.json");
  if (!d.dropout_key.empty()) config.put_dropout(d.dropout_key.c_str(), read.dropout, d.dropout);
  config.put_dropout("attention_dropout", read.attention_dropout, d.attention_dropout);
  config.finish(d.family, saved);
  return config.text();
}

std::vector<std::string> remarks_of(const ConfigReader& file, const DecoderDims& d) {
  if (d.left_out_dropout_key.empty()) return {};
  const char* const key = d.left_out_dropout_key.c_str();
  const double rate = file.number(key, 0, unit_interval());
  if (rate == 0) return {};
  return {file.path() + " has " + key + " " + json(rate).dump() +
          ", which trainx leaves out; it drops what model.options.dropout and "
          "model.options.attention_dropout say"};
}

}  // namespace trainx::architectures
