// Options of encoders' tasks, as templates over an architecture's options.
#pragma once
#include "options/field.hpp"
#include "options/model/task.hpp"
#include <cstdint>

namespace trainx::options {

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
  field(
      "mask_token", o.mask_token, non_negative(),
      "masked_lm: id that replaces masked tokens. auto: that of the tokenizer of the data, else of "
      "model.init_from");
  field("special_tokens", o.special_tokens, non_negative(),
        "masked_lm: ids that are never masked. auto: those of the same tokenizer");
}

}  // namespace trainx::options
