// The tasks of encoders, as templates over an architecture's options and dims. Both have the
// members task, num_labels, problem_type, mask_probability, mask_token and special_tokens; dims
// also have labels and head.
#pragma once
#include "architectures/task.hpp"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainx::architectures {

class ConfigKeys;

/// Options or dims of an architecture that learns one of several tasks.
template <class T>
concept Encoder = requires(const T& x) {
  x.task;
  x.special_tokens;
};

/// Evaluation counts each label against each prediction, which bounds the number of labels.
constexpr std::int64_t most_labels = 4096;

template <class Visitor, Encoder Options>
void task_fields(Visitor& field, Options& o) {
  field("task", o.task, anything(), "Task: masked_lm, classification or token_classification");
  field("num_labels", o.num_labels, between(1, most_labels),
        "Classes of a sample, or of a token; of a regression its numbers");
  field("problem_type", o.problem_type, anything(),
        "classification: what a label is. A class, several labels of 0 or 1, or real numbers. "
        "auto: that of model.init_from, else a class, or a number if num_labels is 1");
}

template <class Visitor, Encoder Options>
void masking_fields(Visitor& field, Options& o) {
  field("mask_probability", o.mask_probability,
        Limits{"greater than 0 and at most 1", 0, 1, true, false},
        "masked_lm: share of tokens that become targets if the data names none");
  field("mask_token", o.mask_token, non_negative(), "masked_lm: id that replaces masked tokens");
  field("special_tokens", o.special_tokens, non_negative(), "masked_lm: ids that are never masked");
}

/// Does the task have the labels that num_labels counts?
constexpr bool has_labels(Task task) {
  return task == Task::classification || task == Task::token_classification;
}

/// Numbers of a sample's target; 0: it is no list of numbers.
template <Encoder Dims>
std::int64_t label_values(const Dims& d) {
  const bool values = d.task == Task::classification &&
                      d.problem_type != ProblemType::single_label_classification;
  return values ? d.num_labels : 0;
}

/// What a recipe says of the task.
struct TaskChoice {
  Task task;
  std::optional<std::int64_t> num_labels;
  std::optional<ProblemType> problem_type;
};
/// An option of masked_lm, and whether its value differs from the default.
using MaskingOption = std::pair<const char*, bool>;
/// Throws UserError 78 for a task that the encoder `name` does not learn, and for options that have
/// no effect on it.
void check_task(std::string_view name, const TaskChoice& choice,
                const std::vector<MaskingOption>& masking);
/// `folder`: what a folder with this head says. Throws UserError 78 for one class.
ProblemType problem_type(const TaskChoice& choice, std::optional<ProblemType> folder);
/// Throws UserError 78.
void check_mask_token(std::int64_t mask_token, std::int64_t vocab_size);

/// Decides dims from the task's options. Throws UserError 78 for options that do not fit together.
template <Encoder Options, Encoder Dims>
void take_task(Options& o, Dims& d) {
  const TaskChoice choice{o.task, o.num_labels, o.problem_type.value};
  const Options& defaults = *std::ranges::find(Options::described(), o.name, &Options::name);
  check_task(o.name, choice,
             {{"mask_probability", o.mask_probability != defaults.mask_probability},
              {"mask_token", o.mask_token != defaults.mask_token},
              {"special_tokens", o.special_tokens != defaults.special_tokens}});
  if (o.task == Task::masked_lm) check_mask_token(o.mask_token, d.vocab_size);
  if (o.task == Task::classification)
    o.problem_type.value = d.problem_type =
        problem_type(choice, d.head == o.task ? std::optional(d.problem_type) : std::nullopt);
  d.task = o.task;
  d.num_labels = o.num_labels.value_or(0);
  if (static_cast<std::int64_t>(d.labels.size()) != d.num_labels || d.head != o.task)
    d.labels.clear();
  d.mask_probability = o.mask_probability;
  d.mask_token = o.mask_token;
  d.special_tokens = o.special_tokens;
}

/// Members of an encoder's dims.
struct TaskDims {
  Task& task;
  std::optional<Task>& head;
  std::int64_t& num_labels;
  std::vector<std::string>& labels;
  ProblemType& problem_type;
};

/// Reads or writes the head and its classes in a config.json. `family` begins the names in
/// `architectures`: "Bert" of BertForMaskedLM. Throws UserError 65 for labels that trainx does not
/// compute.
void task_keys(ConfigKeys& keys, const std::string& family, const TaskDims& d);

}  // namespace trainx::architectures
