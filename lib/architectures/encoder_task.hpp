// The tasks of encoders, as templates over an architecture's options and dims. Both have the
// members task, num_labels, problem_type, mask_probability, mask_token and special_tokens; dims
// also have labels and head.
#pragma once
#include "options/model/encoder.hpp"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainx::architectures {

using namespace options;

class ConfigKeys;

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

/// Ids of masks: those of the options, else of the dims, which a tokenizer gave them.
template <Encoder Options, Encoder Dims>
void take_masking(Options& o, Dims& d) {
  if (o.mask_token.value) d.mask_token = *o.mask_token.value;
  if (o.special_tokens.value) d.special_tokens = *o.special_tokens.value;
  check_mask_token(d.mask_token, d.vocab_size);
  if (d.mask_token >= 0) o.mask_token.value = d.mask_token;
  if (!d.special_tokens.empty()) o.special_tokens.value = d.special_tokens;
}

/// Decides dims from the task's options. Throws UserError 78 for options that do not fit together.
template <Encoder Options, Encoder Dims>
void take_task(Options& o, Dims& d) {
  const TaskChoice choice{o.task, o.num_labels, o.problem_type.value};
  const Options& defaults = *std::ranges::find(Options::described(), o.name, &Options::name);
  check_task(o.name, choice,
             {{"mask_probability", o.mask_probability != defaults.mask_probability},
              {"mask_token", !o.mask_token.is_auto()},
              {"special_tokens", !o.special_tokens.is_auto()}});
  if (o.task == Task::masked_lm) take_masking(o, d);
  if (o.task == Task::classification)
    o.problem_type.value = d.problem_type =
        problem_type(choice, d.head == o.task ? std::optional(d.problem_type) : std::nullopt);
  d.task = o.task;
  d.num_labels = o.num_labels.value_or(0);
  if (static_cast<std::int64_t>(d.labels.size()) != d.num_labels || d.head != o.task)
    d.labels.clear();
  d.mask_probability = o.mask_probability;
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
