// config.json of encoder-decoders, their tensors' names, and what a recipe sets of them.
#include "architectures/config_reader.hpp"
#include "architectures/folder_config.hpp"
#include "architectures/refuse_option.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include "core/error.hpp"
#include <optional>

namespace trainx::architectures {

using nlohmann::json;

namespace {

const Seq2SeqFamily& spec_of(const Seq2SeqDims& d) {
  return family_named(seq2seq_families(), d.family);
}

/// The tokens that stand before a target, and where it is padded.
void read_shift(const ConfigReader& file, Seq2SeqDims& d) {
  const auto token = [&](const char* key, std::optional<std::int64_t> otherwise) {
    const json* j = file.find(key);
    if (!j && otherwise && *otherwise < d.vocab_size) return *otherwise;
    if (!j || !j->is_number_integer() || j->get<std::int64_t>() < 0 ||
        j->get<std::int64_t>() >= d.vocab_size)
      file.fail(std::string(key) + (j ? " is " + shown(*j) : std::string(" is missing")) +
                "; it must be an id below vocab_size");
    return j->get<std::int64_t>();
  };
  const Seq2SeqFamily::Targets& targets = spec_of(d).targets;
  d.shift.pad = token("pad_token_id", targets.pad);
  d.shift.wraps = targets.wrap;
  d.shift.start = token("decoder_start_token_id", targets.start);
  if (targets.pad_row_is_zero) d.pad_token = d.shift.pad;
}

}  // namespace

Seq2SeqDims seq2seq_dims(const std::string& family, const std::string& text,
                         const std::string& path, bool lacks_head) {
  const ConfigReader file(text, path);
  Seq2SeqDims d{.family = family, .config = text, .lacks_head = lacks_head};
  spec_of(d).read(file, d);
  read_shift(file, d);
  file.refuse_unknown();
  return d;
}

const Sizes<Seq2SeqDims>& sizes(const Seq2SeqOptions& o) {
  static const auto all = sizes_by_family<Seq2SeqDims>(
      seq2seq_families(), [](const std::string& family, const std::string& text,
                             const std::string& path) { return seq2seq_dims(family, text, path); });
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
  const auto& keys = spec_of(d).keys;
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
FolderConfig config_with(const Seq2SeqDims& d) {
  const auto& keys = spec_of(d).keys;
  FolderConfig config(d.config);
  config.put(keys.layers, d.num_layers);
  config.put(keys.decoder_layers, d.num_decoder_layers);
  config.put(keys.heads, d.num_heads);
  config.put(keys.decoder_heads, d.num_decoder_heads);
  config.put(keys.head_size, d.head_size);
  config.put(keys.hidden_size, d.hidden_size);
  config.put(keys.intermediate_size, d.intermediate_size);
  config.put(keys.decoder_intermediate_size, d.decoder_intermediate_size);
  config.put(keys.max_positions, d.max_positions);
  config.put("vocab_size", d.vocab_size);
  return config;
}

}  // namespace

void take_settings(Seq2SeqOptions& o, Seq2SeqDims& d) {
  if (o.task != Task::seq2seq)
    refuse_option("task: " + d.family +
                  " reads one text and writes another, and learns seq2seq, not " +
                  std::string(name_of(o.task)));
  Seq2SeqDims settled =
      seq2seq_dims(d.family, config_with(d).text(), "model.options", d.lacks_head);
  if (settled.widths_scale_weights && o.initializer_range != Seq2SeqOptions{}.initializer_range)
    refuse_option("initializer_range can have no effect with " + d.family +
                  ", whose initial weights follow from their widths: leave it out");
  const Seq2SeqFamily::Dropouts& keys = spec_of(d).dropouts;
  if (!o.dropout.is_auto() && *o.dropout.value != settled.dropout) {
    if (settled.activation_dropout > 0 || !keys.activation)
      settled.activation_dropout = *o.dropout.value;
    if (!keys.attention) settled.attention_dropout = *o.dropout.value;
  }
  const double range = settled.initializer_range;
  take_settings<Seq2SeqOptions, Seq2SeqDims>(o, settled);
  if (settled.widths_scale_weights) settled.initializer_range = range;
  d = std::move(settled);
}

std::string seq2seq_config_text(const Seq2SeqDims& d, DType saved) {
  FolderConfig config = config_with(d);
  const Seq2SeqDims read = seq2seq_dims(d.family, config.text(), "config.json");
  const Seq2SeqFamily::Dropouts& keys = spec_of(d).dropouts;
  config.put_dropout(keys.hidden, read.dropout, d.dropout);
  config.put_dropout(keys.attention, read.attention_dropout, d.attention_dropout);
  config.put_dropout(keys.activation, read.activation_dropout, d.activation_dropout);
  config.finish(d.family, saved);
  return config.text();
}

std::vector<std::string> remarks_of(const ConfigReader&, const Seq2SeqDims&) { return {}; }

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
  if (d.tied() && name == d.head + ".weight") return table;
  if (name.ends_with("EncDecAttention.relative_attention_bias.weight")) return {};
  return name;
}

}  // namespace trainx::architectures
