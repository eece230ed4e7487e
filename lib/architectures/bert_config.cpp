// config.json and tensors of a Hugging Face BERT folder, whichever model of the family wrote it.
#include "architectures/bert.hpp"
#include "architectures/config_reader.hpp"

namespace trainx::architectures {

using nlohmann::json;

namespace {

/// -1 is null in the file; an absent key is 0.
void pad_token(ConfigKeys& keys, const char* key, BertDims& d) {
  keys.write(key, d.pad_token >= 0 ? json(d.pad_token) : json());
  if (!keys.file()) return;
  const json* pad = keys.file()->find(key);
  if (pad && (!pad->is_number_integer() || pad->get<std::int64_t>() < 0 ||
              pad->get<std::int64_t>() >= d.vocab_size))
    keys.file()->fail(std::string(key) + " is " + shown(*pad) +
                      "; it must be an id below vocab_size");
  d.pad_token = pad                         ? pad->get<std::int64_t>()
                : keys.file()->is_null(key) ? -1
                : d.family == "bert"        ? 0
                                            : 1;
}

/// RoBERTa's table has rows for padding and those before it.
void positions(ConfigKeys& keys, BertDims& d) {
  std::int64_t rows = d.max_positions + d.first_position;
  keys.dimension("max_position_embeddings", rows);
  if (!keys.file()) return;
  if (d.family != "bert") d.first_position = d.pad_token + 1;
  d.max_positions = rows - d.first_position;
  if (d.max_positions < 1)
    keys.file()->fail("max_position_embeddings must be more than pad_token_id + 1");
}

std::string class_of(const BertDims& d) {
  return d.family == "bert" ? "Bert" : d.family == "roberta" ? "Roberta" : "XLMRoberta";
}

}  // namespace

void config_keys(ConfigKeys& keys, BertDims& d) {
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
  keys.heads_divide("hidden_size", d.hidden_size, "num_attention_heads", d.num_heads);
  pad_token(keys, "pad_token_id", d);
  positions(keys, d);
  keys.write("attention_probs_dropout_prob", 0.0);
  keys.write("initializer_range", d.initializer_range);
  task_keys(keys, class_of(d), {d.task, d.head, d.num_labels, d.labels, d.problem_type});
}

std::vector<std::string> remarks_of(const ConfigReader& file, const BertDims& d) {
  const double hidden = file.dropout("hidden_dropout_prob"),
               attention = file.dropout("attention_probs_dropout_prob"),
               classifier = file.number("classifier_dropout", hidden, unit_interval());
  return dropout_remarks(file.path(), d.dropout, {"hidden_dropout_prob", hidden},
                         {"classifier_dropout", classifier}, attention);
}

namespace {

/// Heads of sequences and of tokens have names in common: another one than the task's is left.
bool is_other_classifier(const BertDims& d, std::string_view name) {
  const bool of_sequence = name.starts_with("classifier.dense.") ||
                           name.starts_with("classifier.out_proj.");
  if (!name.starts_with("classifier.")) return false;
  if (!has_labels(d.task) || (d.head && d.head != d.task)) return true;
  return d.family != "bert" && of_sequence != (d.task == Task::classification);
}

/// Of RoBERTa; the decoder is the embedding, and its bias is the head's.
std::string roberta_parameter(const BertDims& d, std::string name) {
  for (const char* part : {"embeddings.", "encoder."})
    if (name.starts_with(part)) name = "roberta." + name;
  const bool of_other_head =
      name.starts_with("pooler.") || name.starts_with("roberta.pooler.") ||
      (has_labels(d.task) && name.starts_with("lm_head.")) || is_other_classifier(d, name);
  if (of_other_head || name == "lm_head.decoder.weight" || name == "lm_head.decoder.bias" ||
      name == "roberta.embeddings.position_ids" || name.starts_with("qa_outputs."))
    return {};
  return name;
}

}  // namespace

/// Names begin with "bert." or not; norms have gamma and beta in the first folders. position_ids,
/// copies of tied tensors and heads of other tasks are no parameters.
std::string parameter_of(const BertDims& d, std::string_view saved_name) {
  std::string name(saved_name);
  if (d.family != "bert") return roberta_parameter(d, std::move(name));
  for (const char* part : {"embeddings.", "encoder.", "pooler."})
    if (name.starts_with(part)) name = "bert." + name;
  for (const auto& [old, now] :
       {std::pair<std::string, std::string>{"LayerNorm.gamma", "LayerNorm.weight"},
        {"LayerNorm.beta", "LayerNorm.bias"}})
    if (name.ends_with(old)) name.replace(name.size() - old.size(), old.size(), now);
  const bool of_other_head =
      (has_labels(d.task) && name.starts_with("cls.")) || is_other_classifier(d, name) ||
      (d.task != Task::classification && name.starts_with("bert.pooler.")) ||
      name.starts_with("cls.seq_relationship.");
  const bool tied = name == "cls.predictions.decoder.weight" ||
                    name == "cls.predictions.decoder.bias";
  if (of_other_head || tied || name == "bert.embeddings.position_ids" ||
      name.starts_with("qa_outputs."))
    return {};
  return name;
}

}  // namespace trainx::architectures
