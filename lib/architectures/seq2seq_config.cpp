// config.json of encoder-decoders, their tensors' names, and what a recipe sets of them.
#include "architectures/config_reader.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <iterator>
#include <map>

namespace trainx::architectures {

using nlohmann::json;

namespace {

[[noreturn]] void refuse_option(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model.options." + sentence);
}

const Seq2SeqFamily& family_named(std::string_view name) {
  if (const Seq2SeqFamily* f = find_seq2seq_family(name)) return *f;
  throw InternalError("no family of encoder-decoders is called " + std::string(name));
}

/// The tokens that stand before a target, and where it is padded.
void read_shift(const ConfigReader& file, Seq2SeqDims& d) {
  constexpr std::int64_t required = -2;
  const auto token = [&](const char* key, std::int64_t otherwise) {
    const json* j = file.find(key);
    if (!j && otherwise != required) return otherwise;
    if (!j || !j->is_number_integer() || j->get<std::int64_t>() < 0 ||
        j->get<std::int64_t>() >= d.vocab_size)
      file.fail(std::string(key) + (j ? " is " + shown(*j) : std::string(" is missing")) +
                "; it must be an id below vocab_size");
    return j->get<std::int64_t>();
  };
  const bool t5 = d.family == "t5";
  d.shift.pad = token("pad_token_id", t5 ? 0 : 1);
  d.shift.wraps = d.family == "mbart";
  // where targets wrap it begins what is generated alone
  d.shift.start = token("decoder_start_token_id", t5 ? required : d.shift.wraps ? -1 : 2);
  if (!t5) d.pad_token = d.shift.pad;
}

}  // namespace

const std::vector<Seq2SeqFamily>& seq2seq_families() {
  static const std::vector<Seq2SeqFamily> all = [] {
    std::vector<Seq2SeqFamily> out;
    for (auto list : {t5_families, bart_families})
      std::ranges::move(list(), std::back_inserter(out));
    return out;
  }();
  return all;
}

const Seq2SeqFamily* find_seq2seq_family(std::string_view name) {
  const auto found = std::ranges::find(seq2seq_families(), name, &Seq2SeqFamily::name);
  return found == seq2seq_families().end() ? nullptr : &*found;
}

const std::vector<Seq2SeqOptions>& Seq2SeqOptions::described() {
  static const std::vector<Seq2SeqOptions> all = [] {
    std::vector<Seq2SeqOptions> out;
    for (const Seq2SeqFamily& f : seq2seq_families()) {
      out.emplace_back();
      out.back().name = f.name;
      out.back().summary = f.summary;
    }
    return out;
  }();
  return all;
}

Seq2SeqDims seq2seq_dims(const std::string& family, const std::string& text,
                         const std::string& path) {
  const ConfigReader file(text, path);
  Seq2SeqDims d{.family = family, .config = text};
  family_named(family).read(file, d);
  read_shift(file, d);
  file.refuse_unknown();
  return d;
}

const Sizes<Seq2SeqDims>& sizes(const Seq2SeqOptions& o) {
  static const auto all = [] {
    std::map<std::string, Sizes<Seq2SeqDims>, std::less<>> out;
    for (const Seq2SeqFamily& f : seq2seq_families())
      for (const auto& [name, text] : f.sizes)
        out[std::string(f.name)].emplace_back(
            name, seq2seq_dims(std::string(f.name), std::string(text), "published sizes"));
    return out;
  }();
  return all.at(o.name);
}

std::vector<Dimension> dimensions(Seq2SeqOptions& o, Seq2SeqDims& d) {
  // the decoder has what the encoder has, unless the sizes say otherwise
  if (o.num_layers && !o.num_decoder_layers && d.num_decoder_layers == d.num_layers)
    d.num_decoder_layers = *o.num_layers;
  if (o.num_heads && d.num_decoder_heads == d.num_heads) d.num_decoder_heads = *o.num_heads;
  if (d.decoder_intermediate_size == d.intermediate_size)
    d.decoder_intermediate_size = o.intermediate_size ? *o.intermediate_size
                                                      : d.decoder_intermediate_size;
  const auto& keys = family_named(d.family).keys;
  std::vector<Dimension> all{{"num_layers", o.num_layers, d.num_layers},
                             {"num_decoder_layers", o.num_decoder_layers, d.num_decoder_layers},
                             {"num_heads", o.num_heads, d.num_heads},
                             {"hidden_size", o.hidden_size, d.hidden_size},
                             {"intermediate_size", o.intermediate_size, d.intermediate_size},
                             {"vocab_size", o.vocab_size, d.vocab_size}};
  if (keys.head_size) {
    const std::int64_t heads = o.num_heads.value_or(d.num_heads),
                       hidden = o.hidden_size.value_or(d.hidden_size);
    if (!o.head_size && d.head_size * d.num_heads == d.hidden_size && hidden % heads == 0)
      d.head_size = hidden / heads;
    all.push_back({"head_size", o.head_size, d.head_size});
  } else if (o.head_size) {
    refuse_option("head_size can have no effect with " + d.family +
                  ", whose heads are hidden_size / num_heads wide: leave it out");
  }
  if (keys.max_positions)
    all.push_back({"max_positions", o.max_positions, d.max_positions});
  else if (o.max_positions)
    refuse_option("max_positions can have no effect with " + d.family +
                  ", which knows distances between tokens and no positions: leave it out");
  return all;
}

namespace {

/// Its config.json with these sizes.
std::string config_with(const Seq2SeqDims& d) {
  const auto& keys = family_named(d.family).keys;
  json config = json::parse(d.config);
  const auto put = [&](const char* key, std::int64_t value, std::int64_t otherwise = -1) {
    if (key && config.value(key, otherwise) != value) config[key] = value;
  };
  put(keys.layers, d.num_layers);
  put(keys.decoder_layers, d.num_decoder_layers, d.num_layers);
  put(keys.heads, d.num_heads);
  put(keys.decoder_heads, d.num_decoder_heads);
  put(keys.head_size, d.head_size);
  put(keys.hidden_size, d.hidden_size);
  put(keys.intermediate_size, d.intermediate_size);
  put(keys.decoder_intermediate_size, d.decoder_intermediate_size);
  put(keys.max_positions, d.max_positions);
  put("vocab_size", d.vocab_size);
  return config.dump(2) + "\n";
}

}  // namespace

void take_settings(Seq2SeqOptions& o, Seq2SeqDims& d) {
  if (o.task != Task::seq2seq)
    refuse_option("task: " + d.family +
                  " reads one text and writes another, and learns seq2seq, not " +
                  std::string(name_of(o.task)));
  Seq2SeqDims settled = seq2seq_dims(d.family, config_with(d), "model.options");
  if (!settled.widths_scale_weights)
    settled.initializer_range = o.initializer_range;
  else if (o.initializer_range != Seq2SeqOptions{}.initializer_range)
    refuse_option("initializer_range can have no effect with " + d.family +
                  ", whose initial weights follow from their widths: leave it out");
  if (!o.dropout.is_auto() && *o.dropout.value != settled.dropout) {
    settled.dropout = *o.dropout.value;
    if (settled.activation_dropout > 0 || d.family == "t5")
      settled.activation_dropout = settled.dropout;
  }
  o.dropout.value = settled.dropout;
  d = std::move(settled);
}

std::string seq2seq_config_text(const Seq2SeqDims& d, DType saved) {
  json config = json::parse(config_with(d));
  config["model_type"] = d.family;
  const char* key = config.contains("torch_dtype") ? "torch_dtype" : "dtype";
  config[key] = saved == DType::f32 ? "float32" : "bfloat16";
  return config.dump(2) + "\n";
}

std::vector<std::string> remarks_of(const ConfigReader& file, const Seq2SeqDims& d) {
  const char* key = d.family == "t5" ? "dropout_rate" : "dropout";
  const double main = file.dropout(key),
               attention = d.family == "t5" ? (d.dropout > 0 ? main : 0)
                                            : file.number("attention_dropout", 0, unit_interval());
  return dropout_remarks(file.path(), d.dropout, {key, main}, {key, main}, attention);
}

/// Embeddings of both sides are one table, and so is a tied head. What the first T5 had in its
/// cross-attention nobody reads.
std::string parameter_of(const Seq2SeqDims& d, std::string_view saved_name) {
  const std::string table = d.embedding + ".weight";
  std::string name(saved_name);
  if (table.starts_with("model."))  // of a folder of the model without its head
    for (const char* part : {"encoder.", "decoder.", "shared."})
      if (name.starts_with(part)) name = "model." + name;
  for (const SideNames* side : {&d.encoder, &d.decoder}) {
    const std::string of_side = side->layers.substr(0, side->layers.rfind('.')) +
                                ".embed_tokens.weight";
    if (name == of_side) return table;
  }
  if (d.tied && name == d.head + ".weight") return table;
  if (name.ends_with("EncDecAttention.relative_attention_bias.weight") ||
      name.ends_with("coder.version"))
    return {};
  return name;
}

}  // namespace trainx::architectures
