#include "architectures/encoder_task.hpp"
#include "core/error.hpp"
#include "architectures/config_reader.hpp"
#include "architectures/refuse_option.hpp"
#include <algorithm>

namespace trainx::architectures {

using nlohmann::json;

namespace {

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
  if (names && names->empty()) config.fail("id2label is empty; it must name at least one class");
  d.num_labels =
      config.dimension("num_labels", names ? static_cast<std::int64_t>(names->size()) : 2);
  if (d.num_labels > most_labels)
    config.fail("num_labels is " + std::to_string(d.num_labels) + "; trainx computes at most " +
                std::to_string(most_labels) + " labels");
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

/// What labels are by a folder's problem_type; without one transformers goes by their number, and
/// takes classes where labels are whole numbers.
void problem_keys(ConfigKeys& keys, const TaskDims& d) {
  const auto& names = enum_names(ProblemType{});
  if (!keys.file())
    return keys.write("problem_type", names[static_cast<std::size_t>(d.problem_type)].second);
  const json* written = keys.file()->find("problem_type");
  d.problem_type = d.num_labels == 1 ? ProblemType::regression
                                     : ProblemType::single_label_classification;
  if (!written) return;
  keys.require("problem_type", {names[0].second, names[1].second, names[2].second});
  for (const auto& [type, name] : names)
    if (*written == name) d.problem_type = type;
  if (d.num_labels == 1 && d.problem_type == ProblemType::single_label_classification)
    keys.file()->fail("num_labels is 1, and problem_type says classes, of which one is none");
}

}  // namespace

void check_task(std::string_view name, const TaskChoice& choice,
                const std::vector<MaskingOption>& masking) {
  const std::string task(name_of(choice.task));
  const bool labels = has_labels(choice.task);
  if (!labels && choice.task != Task::masked_lm)
    refuse_option(
        "task: a " + std::string(name) + " sees the tokens on both sides and cannot learn " + task +
        "; give masked_lm, classification or token_classification, or another model.type");
  if (labels && !choice.num_labels)
    refuse_option("num_labels is missing: task " + task + " needs the number of classes");
  if (!labels && choice.num_labels)
    refuse_option(
        "num_labels can have no effect with task masked_lm: remove it, or write task: "
        "classification");
  if (choice.task != Task::classification && choice.problem_type)
    refuse_option("problem_type can have no effect with task " + task + ": leave it auto");
  if (choice.task == Task::token_classification && *choice.num_labels < 2)
    refuse_option("num_labels is 1; token_classification takes at least 2 classes");
  for (const auto& [option, changed] : masking)
    if (labels && changed)
      refuse_option(std::string(option) + " can have no effect with task " + task + ": remove it");
}

ProblemType problem_type(const TaskChoice& choice, std::optional<ProblemType> folder) {
  const bool one = choice.num_labels == 1;
  const ProblemType otherwise = one ? ProblemType::regression
                                    : ProblemType::single_label_classification,
                    type = choice.problem_type.value_or(folder.value_or(otherwise));
  if (one && type == ProblemType::single_label_classification)
    refuse_option(
        "num_labels is 1, which is no choice: give 2 or more classes, or problem_type: "
        "regression");
  return type;
}

void check_mask_token(std::int64_t mask_token, std::int64_t vocab_size) {
  if (mask_token >= vocab_size)
    refuse_option("mask_token (" + std::to_string(mask_token) +
                  ") must be below the vocabulary's " + std::to_string(vocab_size) + " tokens");
}

void task_keys(ConfigKeys& keys, const std::string& family, const TaskDims& d) {
  const std::string classifier = family + "ForSequenceClassification",
                    tokens = family + "ForTokenClassification", masked_lm = family + "ForMaskedLM";
  if (const ConfigReader* file = keys.file()) {
    if (is_of(*file, classifier))
      d.head = d.task = Task::classification;
    else if (is_of(*file, tokens))
      d.head = d.task = Task::token_classification;
    else if (is_of(*file, masked_lm) || is_of(*file, family + "ForPreTraining"))
      d.head = Task::masked_lm;
  }
  const bool classification = d.task == Task::classification;
  keys.write("architectures", json::array({classification       ? classifier
                                           : has_labels(d.task) ? tokens
                                                                : masked_lm}));
  if (!has_labels(d.task)) return;
  if (keys.file())
    read_labels(*keys.file(), d);
  else
    write_labels(keys, d);
  if (classification) return problem_keys(keys, d);
  if (keys.file() && d.num_labels < 2)
    keys.file()->fail("num_labels is 1; token classification takes at least 2 classes");
}

}  // namespace trainx::architectures
