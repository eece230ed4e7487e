#include "architectures/bert_config.hpp"
#include "core/error.hpp"
#include "architectures/config_reader.hpp"
#include <algorithm>

namespace trainx::architectures {

using nlohmann::json;

namespace {

bool is_of(const ConfigReader& config, const char* architecture) {
  const json* list = config.find("architectures");
  return list && list->is_array() &&
         std::find(list->begin(), list->end(), json(architecture)) != list->end();
}

/// num_labels and their names: id2label {"0": name, ...}, which is how transformers writes both;
/// num_labels alone; neither means 2.
void read_labels(const ConfigReader& config, BertDims& dims) {
  const json* names = config.find("id2label");
  if (names && !names->is_object())
    config.fail("id2label is " + shown(*names) + "; it must be an object of class to name");
  dims.num_labels =
      config.dimension("num_labels", names ? static_cast<std::int64_t>(names->size()) : 2);
  if (dims.num_labels < 2)
    config.fail(
        "num_labels is 1, a regression, which trainx does not compute; only 2 or more classes");
  if (dims.num_labels > most_labels)
    config.fail("num_labels is " + std::to_string(dims.num_labels) + "; trainx computes at most " +
                std::to_string(most_labels) + " classes");
  if (!names) return;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(names->size()); ++i) {
    const auto name = names->find(std::to_string(i));
    if (name == names->end() || !name->is_string())
      config.fail("id2label does not name class " + std::to_string(i));
    dims.labels.push_back(name->get<std::string>());
  }
  if (static_cast<std::int64_t>(names->size()) != dims.num_labels)
    config.fail("id2label names " + std::to_string(names->size()) + " classes, num_labels says " +
                std::to_string(dims.num_labels));
}

}  // namespace

BertDims bert_dims_from_config(const std::string& text, const std::string& path) {
  const ConfigReader config(text, path);
  config.model_type({"bert"});
  config.require("hidden_act", {"gelu", "gelu_python"});
  config.require("position_embedding_type", {"absolute"});
  config.require("is_decoder", {false});
  config.require("add_cross_attention", {false});
  config.require("tie_word_embeddings", {true});
  config.require("pruned_heads", {json::object()});
  BertDims dims;
  dims.num_layers = config.dimension("num_hidden_layers");
  dims.num_heads = config.dimension("num_attention_heads");
  dims.hidden_size = config.dimension("hidden_size");
  dims.intermediate_size = config.dimension("intermediate_size");
  dims.max_positions = config.dimension("max_position_embeddings");
  dims.vocab_size = config.dimension("vocab_size");
  dims.type_vocab_size = config.dimension("type_vocab_size", 2);
  dims.layer_norm_epsilon = config.number("layer_norm_eps", 1e-12, positive());
  dims.dropout = config.dropout("hidden_dropout_prob");
  if (dims.hidden_size % dims.num_heads != 0)
    config.fail("hidden_size (" + std::to_string(dims.hidden_size) +
                ") must be a multiple of num_attention_heads (" + std::to_string(dims.num_heads) +
                ")");
  const json* pad = config.find("pad_token_id");
  if (pad && (!pad->is_number_integer() || pad->get<std::int64_t>() < 0 ||
              pad->get<std::int64_t>() >= dims.vocab_size))
    config.fail("pad_token_id is " + shown(*pad) + "; it must be an id below vocab_size");
  dims.pad_token = pad ? pad->get<std::int64_t>() : config.is_null("pad_token_id") ? -1 : 0;
  if (is_of(config, "BertForSequenceClassification")) {
    config.require("problem_type", {"single_label_classification"});
    dims.task = Task::classification;
    dims.head = dims.task;
    read_labels(config, dims);
  } else if (is_of(config, "BertForMaskedLM") || is_of(config, "BertForPreTraining")) {
    dims.head = Task::masked_lm;
  }
  return dims;
}

std::vector<std::string> bert_dropout_remarks(const std::string& text, const std::string& path,
                                              double dropout) {
  const ConfigReader config(text, path);
  const double hidden = config.dropout("hidden_dropout_prob"),
               attention = config.dropout("attention_probs_dropout_prob");
  const double classifier = config.number("classifier_dropout", hidden, unit_interval());
  std::vector<std::string> out;
  if (classifier != hidden && dropout == hidden)
    out.push_back(path + " has hidden_dropout_prob " + json(hidden).dump() +
                  " and classifier_dropout " + json(classifier).dump() +
                  "; trainx has one dropout for both and takes " + json(hidden).dump() +
                  " (model.options.dropout sets another)");
  if (attention > 0) out.push_back(no_attention_dropout(path, attention));
  return out;
}

std::string bert_config_text(const BertDims& d, DType saved) {
  const char* dtype = saved == DType::f32 ? "float32" : saved == DType::bf16 ? "bfloat16" : nullptr;
  if (!dtype) throw InternalError("bert_config_text: weights are saved as f32 or bf16");
  const bool classification = d.task == Task::classification;
  json config{
      {"architectures", {classification ? "BertForSequenceClassification" : "BertForMaskedLM"}},
      {"model_type", "bert"},
      {"hidden_act", "gelu"},
      {"num_hidden_layers", d.num_layers},
      {"num_attention_heads", d.num_heads},
      {"hidden_size", d.hidden_size},
      {"intermediate_size", d.intermediate_size},
      {"max_position_embeddings", d.max_positions},
      {"vocab_size", d.vocab_size},
      {"type_vocab_size", d.type_vocab_size},
      {"layer_norm_eps", d.layer_norm_epsilon},
      {"hidden_dropout_prob", d.dropout},
      {"attention_probs_dropout_prob", 0.0},
      {"initializer_range", d.initializer_range},
      {"position_embedding_type", "absolute"},
      {"pad_token_id", d.pad_token >= 0 ? json(d.pad_token) : json()},
      {"tie_word_embeddings", true},
      {"torch_dtype", dtype}};
  if (classification) {
    json names = json::object(), ids = json::object();
    for (std::int64_t i = 0; i < d.num_labels; ++i) {
      const std::string name = d.labels.empty() ? "LABEL_" + std::to_string(i)
                                                : d.labels.at(static_cast<std::size_t>(i));
      names[std::to_string(i)] = name;
      ids[name] = i;
    }
    config["num_labels"] = d.num_labels;
    config["id2label"] = std::move(names);
    config["label2id"] = std::move(ids);
    config["problem_type"] = "single_label_classification";
  }
  return config.dump(2) + "\n";
}

std::string bert_parameter_name(const BertDims& dims, std::string_view saved_name) {
  std::string name(saved_name);
  for (const char* part : {"embeddings.", "encoder.", "pooler."})
    if (name.starts_with(part)) name = "bert." + name;
  for (const auto& [old, now] :
       {std::pair<std::string, std::string>{"LayerNorm.gamma", "LayerNorm.weight"},
        {"LayerNorm.beta", "LayerNorm.bias"}})
    if (name.ends_with(old)) name.replace(name.size() - old.size(), old.size(), now);
  const bool classification = dims.task == Task::classification;
  const bool of_other_head = classification ? name.starts_with("cls.")
                                            : name.starts_with("classifier.") ||
                                                  name.starts_with("bert.pooler.") ||
                                                  name.starts_with("cls.seq_relationship.");
  const bool tied = name == "cls.predictions.decoder.weight" ||
                    name == "cls.predictions.decoder.bias";
  if (of_other_head || tied || name == "bert.embeddings.position_ids" ||
      name.starts_with("qa_outputs."))
    return {};
  return name;
}

}  // namespace trainx::architectures
