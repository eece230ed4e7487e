// config.json of decoders, and what a recipe sets of them.
#include "architectures/config_reader.hpp"
#include "architectures/decoder.hpp"
#include "architectures/families/family.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <map>
#include <numeric>

namespace trainx::architectures {

using nlohmann::json;

namespace {

const Family& family_of(const std::string& name) {
  if (const Family* f = find_family(name)) return *f;
  throw InternalError("no family of decoders is called " + name);
}

}  // namespace

const std::vector<DecoderOptions>& DecoderOptions::described() {
  static const std::vector<DecoderOptions> all = [] {
    std::vector<DecoderOptions> out;
    for (const Family& f : families()) {
      out.emplace_back();
      out.back().name = f.name;
      out.back().summary = f.summary;
    }
    return out;
  }();
  return all;
}

DecoderDims decoder_dims(const std::string& family, const std::string& text,
                         const std::string& path) {
  const ConfigReader file(text, path);
  DecoderDims d{.family = family, .config = text};
  FamilyReader reader(file, d);
  family_of(family).read(reader, d);
  file.refuse_unknown();
  const auto turns_wholly = [&](const Rope& r) {
    return static_cast<std::int64_t>(static_cast<double>(d.head_size) * r.rotated) == d.head_size;
  };
  if (!d.latent && d.head_size % 2 != 0 && std::ranges::any_of(d.ropes, turns_wholly))
    file.fail("head_dim (" + std::to_string(d.head_size) + ") must be even");
  return d;
}

const Sizes<DecoderDims>& sizes(const DecoderOptions& o) {
  static const auto all = [] {
    std::map<std::string, Sizes<DecoderDims>, std::less<>> out;
    for (const Family& f : families())
      for (const auto& [name, text] : f.sizes)
        out[std::string(f.name)].emplace_back(
            name, decoder_dims(std::string(f.name), std::string(text), "published sizes"));
    return out;
  }();
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
  return {{"num_layers", o.num_layers, d.num_layers},
          {"num_heads", o.num_heads, d.num_heads},
          {"num_key_value_heads", o.num_key_value_heads, d.num_key_value_heads},
          {"head_size", o.head_size, d.head_size},
          {"hidden_size", o.hidden_size, d.hidden_size},
          {"intermediate_size", o.intermediate_size, d.intermediate_size},
          {"max_positions", o.max_positions, d.max_positions},
          {"vocab_size", o.vocab_size, d.vocab_size}};
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
  const bool grouped = config.contains("rope_parameters") && config["rope_parameters"].is_object();
  json& rope = config[grouped ? "rope_parameters" : "rope_scaling"];
  if (!rope.is_object()) rope = json::object();
  rope.erase("type");
  rope["rope_type"] = kind;
  rope["factor"] = static_cast<double>(wanted) / static_cast<double>(trained);
  if (o.rope_scaling == RopeScaling::yarn) rope["original_max_position_embeddings"] = trained;
  config["max_position_embeddings"] = wanted;
  d = decoder_dims(d.family, config.dump(2), "model.options");
}

namespace {

/// Its config.json with these sizes.
std::string config_with(const DecoderDims& d) {
  json config = json::parse(d.config);
  const auto put = [&](const char* key, std::int64_t value) {
    if (!config.contains(key) || config[key] != value) config[key] = value;
  };
  if (config.value("num_hidden_layers", std::int64_t{0}) != d.num_layers)
    for (const char* key : {"layer_types", "no_rope_layers"}) config.erase(key);
  // layers from there on have experts
  const char* const experts = "first_k_dense_replace";
  if (d.latent && config.contains(experts) && config[experts] < d.num_layers)
    config[experts] = d.num_layers;
  const auto spelled = [&](const char* other, const char* usual) {
    return config.contains(other) ? other : usual;
  };
  put(spelled("n_layer", "num_hidden_layers"), d.num_layers);
  put(spelled("n_head", "num_attention_heads"), d.num_heads);
  if (d.num_key_value_heads != d.num_heads || config.contains("num_key_value_heads") || d.latent)
    put("num_key_value_heads", d.num_key_value_heads);
  if (!d.latent && (d.head_size * d.num_heads != d.hidden_size || config.contains("head_dim")))
    put("head_dim", d.head_size);
  put(spelled("n_embed", "hidden_size"), d.hidden_size);
  if (!d.fourfold_mlp || d.intermediate_size != 4 * d.hidden_size ||
      config.contains("intermediate_size"))
    put(spelled("ffn_dim", "intermediate_size"), d.intermediate_size);
  if (config.contains("word_embed_proj_dim")) put("word_embed_proj_dim", d.hidden_size);
  if (!d.alibi || d.max_positions != alibi_positions || config.contains("seq_length"))
    put(d.alibi ? "seq_length" : "max_position_embeddings", d.max_positions);
  put("vocab_size", d.vocab_size);
  return config.dump(2) + "\n";
}

}  // namespace

void take_settings(DecoderOptions& o, DecoderDims& d) {
  if (const std::int64_t fixed = d.latent.plain + d.latent.rope;
      d.latent && o.head_size.value_or(fixed) != fixed)
    throw UserError(ExitCode::invalid_recipe,
                    "model.options.head_size can have no effect: a head of " + d.family + " has " +
                        std::to_string(d.latent.plain) + " + " + std::to_string(d.latent.rope) +
                        " elements (qk_nope_head_dim + qk_rope_head_dim): remove it");
  DecoderDims settled = decoder_dims(d.family, config_with(d), "model.options");
  settled.initializer_range = o.initializer_range;
  if (!o.dropout.is_auto()) settled.dropout = *o.dropout.value;
  o.dropout.value = settled.dropout;
  if (!o.attention_dropout.is_auto()) settled.attention_dropout = *o.attention_dropout.value;
  o.attention_dropout.value = settled.attention_dropout;
  settled.label_smoothing = o.label_smoothing;
  settled.z_loss = o.z_loss;
  d = std::move(settled);
}

std::string decoder_config_text(const DecoderDims& d, DType saved) {
  const std::string with_sizes = config_with(d);
  json config = json::parse(with_sizes);
  config["model_type"] = d.family;
  const DecoderDims read = decoder_dims(d.family, with_sizes, "config.json");
  if (!d.dropout_key.empty() && read.dropout != d.dropout) config[d.dropout_key] = d.dropout;
  if (read.attention_dropout != d.attention_dropout)
    config["attention_dropout"] = d.attention_dropout;
  const char* key = config.contains("torch_dtype") ? "torch_dtype" : "dtype";
  config[key] = saved == DType::f32 ? "float32" : "bfloat16";
  return config.dump(2) + "\n";
}

std::vector<std::string> remarks_of(const ConfigReader&, const DecoderDims&) { return {}; }

}  // namespace trainx::architectures
