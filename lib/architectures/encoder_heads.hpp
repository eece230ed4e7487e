// The heads of an encoder's tasks, for any names of their parameters.
#pragma once
#include "architectures/compose.hpp"
#include <string>
#include <vector>

namespace trainx::architectures {

using operations::Activation;

/// How an encoder's files call the parameters of a head: linear, activation and norm, then dropout
/// and a linear layer of labels, or the product with the token embedding and a bias. masked_lm has
/// rows with a target, classification the first row of each sample, token_classification all rows.
struct HeadNames {
  std::string dense = "", norm = "";  // "": there is none
  std::string output;                 // the last linear, or what the bias belongs to
  std::string tied_to = "";           // masked_lm: the token embedding
  Activation activation = Activation::gelu_erf;
  bool drops_input = false;  // what the first linear reads, too
};

/// The tensors of a micro-batch that an encoder reads for its task.
template <Encoder Dims>
std::vector<std::string> encoder_batch(const Dims& d) {
  std::vector<std::string> batch{"tokens", "targets", "positions"};
  if (d.type_vocab_size > 0) batch.emplace_back("token_types");
  batch.emplace_back("lengths");
  if (d.task == Task::classification)
    batch.emplace_back(label_values(d) > 0 ? "label_values" : "labels");
  return batch;
}

/// The rows of the dims' task.
template <Encoder Dims>
graph::Head head_rows(const graph::ModelBuilder& m, const Dims& d) {
  switch (d.task) {
    case Task::masked_lm: return rows_with_targets(m, d.padded_vocab_size(), d.mask_probability);
    case Task::classification:
      return first_rows(m, label_values(d) > 0 ? "label_values" : "labels");
    case Task::token_classification: return all_rows(m, d.num_labels);
    default: throw InternalError(std::string(family_of(d)) + "_graph: no task of encoders");
  }
}

/// The head of the dims' task. A folder without this head may lack its parameters.
template <Encoder Dims>
void add_head(graph::ModelBuilder& m, const Dims& d, graph::Value h, const HeadNames& names) {
  using Score = operations::CrossEntropy::Score;
  const bool labels = has_labels(d.task), optional = d.head != d.task;
  const std::int64_t values = label_values(d);
  if (labels && d.num_labels < (values > 0 ? 1 : 2))
    throw InternalError(std::string(family_of(d)) + "_graph: too few labels");
  const std::int64_t length = d.task == Task::classification ? 1 : m.options().length;
  if (names.drops_input && d.dropout > 0) h = m.dropout(h, length, 2);
  if (!names.dense.empty())
    h = m.linear(h, names.dense,
                 {.features = labels ? d.hidden_size : d.embedding_columns(),
                  .bias = d.head_bias,
                  .activation = names.activation,
                  .optional = optional});
  if (!names.norm.empty()) h = m.layer_norm(h, names.norm, optional);
  if (labels && d.dropout > 0) h = m.dropout(h, length, 1);
  const graph::ModelBuilder::LogitsOptions logits{.tied_to = labels ? "" : names.tied_to,
                                                  .name = names.output,
                                                  .classes = labels ? d.num_labels : d.vocab_size,
                                                  .bias = labels || d.decoder_bias,
                                                  .optional = optional,
                                                  .by_token = !labels};
  if (values == 0)
    return m.loss(h, logits, d.task == Task::classification ? Score::confusion : Score::correct);
  m.value_loss(h, logits,
               d.problem_type == ProblemType::regression ? operations::ValueLossKind::squared
                                                         : operations::ValueLossKind::binary);
}

}  // namespace trainx::architectures
