#include "architectures/encoder_task.hpp"
#include "core/error.hpp"
#include "architectures/config_reader.hpp"
#include <algorithm>

namespace trainx::architectures {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model.options." + sentence);
}

bool is_of(const ConfigReader& config, const std::string& architecture) {
  const json* list = config.find("architectures");
  return list && list->is_array() &&
         std::find(list->begin(), list->end(), json(architecture)) != list->end();
}

/// num_labels and their names: id2label {"0": name, ...}, which is how transformers writes both;
/// num_labels alone; neither means 2.
void read_labels(const ConfigReader& config, const TaskDims& d) {
  const json* names = config.find("id2label");
  if (names && !names->is_object())
    config.fail("id2label is " + shown(*names) + "; it must be an object of class to name");
  d.num_labels =
      config.dimension("num_labels", names ? static_cast<std::int64_t>(names->size()) : 2);
  if (d.num_labels < 2)
    config.fail(
        "num_labels is 1, a regression, which trainx does not compute; only 2 or more classes");
  if (d.num_labels > most_labels)
    config.fail("num_labels is " + std::to_string(d.num_labels) + "; trainx computes at most " +
                std::to_string(most_labels) + " classes");
  if (!names) return;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(names->size()); ++i) {
    const auto name = names->find(std::to_string(i));
    if (name == names->end() || !name->is_string())
      config.fail("id2label does not name class " + std::to_string(i));
    d.labels.push_back(name->get<std::string>());
  }
  if (static_cast<std::int64_t>(names->size()) != d.num_labels)
    config.fail("id2label names " + std::to_string(names->size()) + " classes, num_labels says " +
                std::to_string(d.num_labels));
}

void write_labels(ConfigKeys& keys, const TaskDims& d) {
  json names = json::object(), ids = json::object();
  for (std::int64_t i = 0; i < d.num_labels; ++i) {
    const std::string name = d.labels.empty() ? "LABEL_" + std::to_string(i)
                                              : d.labels.at(static_cast<std::size_t>(i));
    names[std::to_string(i)] = name;
    ids[name] = i;
  }
  keys.write("num_labels", d.num_labels);
  keys.write("id2label", names);
  keys.write("label2id", ids);
}

}  // namespace

void check_task(std::string_view name, Task task, bool has_labels,
                const std::vector<MaskingOption>& masking) {
  if (task == Task::causal_lm)
    refuse("task: a " + std::string(name) +
           " sees the tokens on both sides and cannot learn causal_lm; give masked_lm or "
           "classification, or model.type gpt2");
  if (task == Task::seq2seq)
    refuse("task: a " + std::string(name) +
           " writes no text and cannot learn seq2seq; give masked_lm or classification, or "
           "model.type t5");
  const bool classification = task == Task::classification;
  if (classification && !has_labels)
    refuse("num_labels is missing: task classification needs the number of classes");
  if (!classification && has_labels)
    refuse(
        "num_labels can have no effect with task masked_lm: remove it, or write task: "
        "classification");
  for (const auto& [option, changed] : masking)
    if (classification && changed)
      refuse(std::string(option) + " can have no effect with task classification: remove it");
}

void check_mask_token(std::int64_t mask_token, std::int64_t vocab_size) {
  if (mask_token >= vocab_size)
    refuse("mask_token (" + std::to_string(mask_token) + ") must be below the vocabulary's " +
           std::to_string(vocab_size) + " tokens");
}

void task_keys(ConfigKeys& keys, const std::string& family, const TaskDims& d) {
  const std::string classifier = family + "ForSequenceClassification",
                    masked_lm = family + "ForMaskedLM";
  if (const ConfigReader* file = keys.file()) {
    if (is_of(*file, classifier))
      d.head = d.task = Task::classification;
    else if (is_of(*file, masked_lm) || is_of(*file, family + "ForPreTraining"))
      d.head = Task::masked_lm;
  }
  const bool classification = d.task == Task::classification;
  keys.write("architectures", json::array({classification ? classifier : masked_lm}));
  if (!classification) return;
  keys.fixed("problem_type", {"single_label_classification"});
  if (keys.file())
    read_labels(*keys.file(), d);
  else
    write_labels(keys, d);
}

}  // namespace trainx::architectures
