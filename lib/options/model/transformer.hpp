// Options that transformers have in common, as templates over an architecture's options. Their
// members have the same names in all architectures.
#pragma once
#include "options/field.hpp"
#include "options/model/task.hpp"
#include <string>

namespace trainx::options {

/// Options as written in a recipe, or decided dims (lib/architectures). An option that is not set
/// comes from `model.size`, the Hugging Face folder or the data.
template <class T>
concept Transformer = requires(const T& x) {
  x.num_layers;
  x.num_heads;
};

template <class Visitor, Transformer Options>
void size_fields(Visitor& field, Options& o) {
  field("num_layers", o.num_layers, at_least(1), "Layers, each attention and MLP");
  field("num_heads", o.num_heads, at_least(1), "Attention heads; divides hidden_size");
  field("hidden_size", o.hidden_size, at_least(1), "Width of the residual stream");
  field("intermediate_size", o.intermediate_size, at_least(1),
        "Width inside the MLP; default: 4 * hidden_size");
  field("max_positions", o.max_positions, at_least(1),
        "Longest sequence; at least data.sequence_length");
  field("vocab_size", o.vocab_size, at_least(1),
        "Tokens of the vocabulary; default: the data's, if it has one");
}

/// `places`: the values that are dropped. `advice`: which standard deviation to choose.
template <class Visitor, Transformer Options>
void training_fields(Visitor& field, Options& o, const std::string& places,
                     const std::string& advice = "") {
  const std::string otherwise = ". auto: that of model.init_from's config.json, else 0";
  field("dropout", o.dropout, unit_interval(), "Dropout of " + places + otherwise);
  field("attention_dropout", o.attention_dropout, unit_interval(),
        "Dropout of attention's probabilities" + otherwise);
  field("label_smoothing", o.label_smoothing, unit_interval(),
        "Share of a training target's probability that all classes get alike");
  field("z_loss", o.z_loss, non_negative(),
        "Factor of log(sum(exp(logits)))^2, which training adds to the loss of a target");
  field("initializer_range", o.initializer_range, positive(),
        "Standard deviation of initial weights" + advice);
}

/// A transformer that has no choice of tasks learns the next token.
template <Transformer T>
Task task(const T& x) {
  if constexpr (requires { x.task; }) return x.task;
  return Task::causal_lm;
}

}  // namespace trainx::options
