// config.json and tensors of a Hugging Face folder of an encoder.
#include "core/error.hpp"
#include "architectures/bert.hpp"
#include "architectures/families/encoder_family.hpp"

namespace trainx::architectures {

using nlohmann::json;

const Sizes<BertDims>& sizes(const BertOptions& o) { return encoder_family(o.name).sizes; }

namespace {

/// What settings ask for and a part of the model would leave out; "": nothing.
template <class Dims>
std::string without_effect(const Dims& d) {
  if constexpr (requires { d.attention_dropout; })
    if (d.attention_dropout > 0 && d.rotates())
      return "attention_dropout: layers with windows on both sides have none; leave it 0";
  if constexpr (requires { d.label_smoothing; })
    if (label_values(d) > 0 && (d.label_smoothing > 0 || d.z_loss > 0))
      return "label_smoothing and z_loss belong to classes; this problem_type has none";
  return "";
}

}  // namespace

void take_settings(BertOptions& o, BertDims& d) {
  const auto refuse = [&](const std::string& what) {
    throw UserError(ExitCode::invalid_recipe, "model.options." + what);
  };
  if (o.type_vocab_size && d.type_vocab_size == 0)
    refuse("type_vocab_size: a " + d.family + " knows no segments: remove it");
  if (o.embedding_size && d.embedding_size == 0)
    refuse("embedding_size: embeddings of a " + d.family + " have hidden_size columns: remove it");
  if (d.discriminates && o.task == Task::masked_lm)
    refuse(
        "task: model.init_from is a discriminator, whose pretraining trainx does not compute; give "
        "classification or token_classification, or the folder of a generator");
  take_settings<BertOptions, BertDims>(o, d);
  // a vocabulary of one's own has padding first
  if (d.pad_token >= d.vocab_size) d.pad_token = 0;
  if (const std::string left_out = without_effect(d); !left_out.empty()) refuse(left_out);
  if (d.rotates() && d.num_heads > 0 && d.hidden_size / d.num_heads % 2 != 0)
    refuse("hidden_size (" + std::to_string(d.hidden_size) +
           ") must be an even multiple of num_heads (" + std::to_string(d.num_heads) +
           "): positions turn pairs");
}

void pad_token(ConfigKeys& keys, BertDims& d, std::int64_t otherwise) {
  const char* key = "pad_token_id";
  keys.write(key, d.pad_token >= 0 ? json(d.pad_token) : json());
  if (!keys.file()) return;
  const json* pad = keys.file()->find(key);
  if (pad && (!pad->is_number_integer() || pad->get<std::int64_t>() < 0 ||
              pad->get<std::int64_t>() >= d.vocab_size))
    keys.file()->fail(std::string(key) + " is " + shown(*pad) +
                      "; it must be an id below vocab_size");
  if (!pad && !keys.file()->is_null(key) && otherwise >= d.vocab_size)
    keys.file()->fail(std::string(key) + " is missing; it must be an id below vocab_size");
  d.pad_token = pad ? pad->get<std::int64_t>() : keys.file()->is_null(key) ? -1 : otherwise;
}

void positions(ConfigKeys& keys, BertDims& d) {
  std::int64_t rows = d.max_positions + d.first_position;
  keys.dimension("max_position_embeddings", rows);
  if (!keys.file()) return;
  d.max_positions = rows - d.first_position;
  if (d.max_positions < 1)
    keys.file()->fail("max_position_embeddings must be more than pad_token_id + 1");
}

void bert_keys(ConfigKeys& keys, BertDims& d) {
  keys.fixed("hidden_act", {"gelu", "gelu_python"});
  keys.fixed("position_embedding_type", {"absolute"});
  keys.require("is_decoder", {false});
  keys.require("add_cross_attention", {false});
  keys.fixed("tie_word_embeddings", {true});
  keys.require("pruned_heads", {json::object()});
  keys.dimension("num_hidden_layers", d.num_layers);
  keys.dimension("num_attention_heads", d.num_heads);
  keys.dimension("hidden_size", d.hidden_size);
  keys.dimension("intermediate_size", d.intermediate_size);
  keys.dimension("vocab_size", d.vocab_size);
  keys.dimension("type_vocab_size", d.type_vocab_size, 2);
  keys.number("layer_norm_eps", d.layer_norm_epsilon, 1e-12, positive());
  keys.dropout("hidden_dropout_prob", d.dropout);
  keys.dropout("attention_probs_dropout_prob", d.attention_dropout);
  keys.heads_divide("hidden_size", d.hidden_size, "num_attention_heads", d.num_heads);
  keys.write("initializer_range", d.initializer_range);
}

void config_keys(ConfigKeys& keys, BertDims& d) {
  const EncoderFamily& family = encoder_family(d.family);
  family.keys(keys, d);
  keys.ignore({family.dropouts.classifier});  // which remarks_of compares
  task_keys(keys, std::string(family.classes),
            {d.task, d.head, d.num_labels, d.labels, d.problem_type});
  if (d.family == "electra" && d.head == Task::masked_lm && d.discriminates) d.head.reset();
  if (keys.file()) keys.file()->refuse_unknown();
}

std::vector<std::string> remarks_of(const ConfigReader& file, const BertDims& d) {
  const EncoderFamily::Dropouts keys = encoder_family(d.family).dropouts;
  const double hidden = file.dropout(keys.hidden),
               classifier = file.number(keys.classifier, hidden, unit_interval());
  return dropout_remarks(file.path(), d.dropout, {keys.hidden, hidden},
                         {keys.classifier, classifier});
}

namespace {

bool is_of(const std::string& layer, const std::string& name) {
  return !layer.empty() && (name == layer + ".weight" || name == layer + ".bias");
}
bool is_of(const HeadNames& head, const std::string& name) {
  return is_of(head.dense, name) || is_of(head.norm, name) || is_of(head.output, name);
}

}  // namespace

/// Names begin with the prefix or not; norms have gamma and beta in the first folders. Copies of
/// tied tensors and heads of other tasks are no parameters.
std::string parameter_of(const BertDims& d, std::string_view saved_name) {
  std::string name(saved_name);
  const EncoderNames& n = encoder_family(d.family).names;
  for (const std::string& part :
       {std::string("embeddings."), n.projection + ".", std::string("pooler."),
        n.layers.substr(0, n.layers.find('.')) + ".", std::string("final_norm.")})
    if (name.starts_with(part)) name = n.prefix + name;
  for (const auto& [old, now] :
       {std::pair<std::string, std::string>{"LayerNorm.gamma", "LayerNorm.weight"},
        {"LayerNorm.beta", "LayerNorm.bias"}})
    if (name.ends_with(old)) name.replace(name.size() - old.size(), old.size(), now);
  for (const std::string& begin : n.unused)
    if (name.starts_with(begin)) return {};
  if (name == n.masked_lm.output + ".weight") return {};  // a copy of the embedding
  const std::pair<Task, const HeadNames&> heads[] = {
      {Task::masked_lm, n.masked_lm},
      {Task::classification, n.classification},
      {Task::token_classification, n.token_classification}};
  bool own = false, other = false;
  for (const auto& [task, head] : heads) (task == d.task ? own : other) |= is_of(head, name);
  if (other && !own) return {};
  // heads of texts and of tokens may have names in common
  const HeadNames& labels = d.task == Task::classification ? n.classification
                                                           : n.token_classification;
  const bool of_labels = has_labels(d.task) && is_of(labels.output, name),
             from_other = d.head && has_labels(*d.head) && *d.head != d.task;
  return of_labels && from_other ? std::string() : name;
}

}  // namespace trainx::architectures
