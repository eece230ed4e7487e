#pragma once
#include "options/field.hpp"
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace trainx::options {

/// What a model is trained for: the next token, masked tokens in their own place, the class of a
/// sample, the class of each token, the text that belongs to another.
enum class Task : std::uint8_t {
  causal_lm,
  masked_lm,
  classification,
  token_classification,
  seq2seq
};
inline const EnumNames<Task>& enum_names(Task) {
  static const EnumNames<Task> names{{Task::causal_lm, "causal_lm"},
                                     {Task::masked_lm, "masked_lm"},
                                     {Task::classification, "classification"},
                                     {Task::token_classification, "token_classification"},
                                     {Task::seq2seq, "seq2seq"}};
  return names;
}

inline std::string_view name_of(Task task) {
  return enum_names(task)[static_cast<std::size_t>(task)].second;
}

/// Does the task have the labels that num_labels counts?
constexpr bool has_labels(Task task) {
  return task == Task::classification || task == Task::token_classification;
}

/// What the label of a sample is for classification: a class; any of several labels; real numbers.
/// The names are config.json's.
enum class ProblemType : std::uint8_t {
  single_label_classification,
  multi_label_classification,
  regression
};
inline const EnumNames<ProblemType>& enum_names(ProblemType) {
  static const EnumNames<ProblemType> names{
      {ProblemType::single_label_classification, "single_label_classification"},
      {ProblemType::multi_label_classification, "multi_label_classification"},
      {ProblemType::regression, "regression"}};
  return names;
}

/// How masked_lm picks its targets (Devlin et al. 2018, section 3.1): each token that is not
/// special with `probability`; of those 80 % become the mask token, 10 % a random token, 10 % stay.
struct Masking {
  double probability = 0.15;
  std::int64_t mask_token = 0, vocab_size = 0;
  std::vector<std::int64_t> special_tokens;  // never masked, never put in
};

/// seq2seq: what a decoder reads where it is to write a text, that text one token later. Before it
/// stands `start`, or with `wraps` the last of its tokens (a language in mBART).
struct TargetShift {
  std::int64_t start = 0, pad = 0;
  bool wraps = false;
};

}  // namespace trainx::options
