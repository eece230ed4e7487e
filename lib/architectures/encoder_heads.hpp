// The heads of an encoder's tasks, for any names of their parameters.
#pragma once
#include "architectures/compose.hpp"
#include <string>
#include <vector>

namespace trainx::architectures {

using operations::Activation;

/// How an encoder's files call the parameters of a head. masked_lm has rows with a target: linear,
/// activation, norm, product with the token embedding and a bias. classification has the first row
/// of each sample: linear, activation, dropout, linear. token_classification has all rows: dropout,
/// linear.
struct HeadNames {
  std::string dense, norm = "";
  std::string output;        // the last linear, or what the bias belongs to
  std::string tied_to = "";  // masked_lm: the token embedding
  Activation activation = Activation::gelu_erf;
  bool drops_input = false;  // classification: what the first linear reads, too
};

/// The tensors of a micro-batch that an encoder reads for its task.
template <Encoder Dims>
std::vector<std::string> encoder_batch(const Dims& d) {
  std::vector<std::string> batch{"tokens", "targets", "positions"};
  if constexpr (requires { d.type_vocab_size; }) batch.emplace_back("token_types");
  batch.emplace_back("lengths");
  if (d.task == Task::classification)
    batch.emplace_back(label_values(d) > 0 ? "label_values" : "labels");
  return batch;
}

template <Encoder Dims>
void add_token_head(graph::ModelBuilder& m, const Dims& d, graph::Value h,
                    const std::string& output) {
  m.begin_head(all_rows(m, d.num_labels));
  if (d.dropout > 0) h = m.dropout(h, m.options().length, 1);
  m.loss(
      h,
      {.name = output, .classes = d.num_labels, .bias = true, .optional = d.head != d.task},
      operations::CrossEntropy::Score::correct);
}

/// The head of the dims' task. A folder without this head may lack its parameters.
template <Encoder Dims>
void add_head(graph::ModelBuilder& m, const Dims& d, graph::Value h, const HeadNames& masked_lm,
              const HeadNames& classification, const std::string& token_classification) {
  using Score = operations::CrossEntropy::Score;
  const std::string graph = std::string(family_of(d)) + "_graph: ";
  const bool classifies = d.task == Task::classification, optional = d.head != d.task;
  const std::int64_t values = label_values(d);
  if (has_labels(d.task) && d.num_labels < (values > 0 ? 1 : 2))
    throw InternalError(graph + "too few labels");
  if (d.task == Task::token_classification) return add_token_head(m, d, h, token_classification);
  if (!classifies && d.task != Task::masked_lm)
    throw InternalError(graph + "a task that encoders do not learn");
  const HeadNames& names = classifies ? classification : masked_lm;
  m.begin_head(classifies ? first_rows(m, values > 0 ? "label_values" : "labels")
                          : rows_with_targets(m, d.padded_vocab_size(), d.mask_probability));
  if (names.drops_input && d.dropout > 0) h = m.dropout(h, 1, 2);
  h = m.linear(h, names.dense,
               {.features = d.hidden_size, .activation = names.activation, .optional = optional});
  if (!classifies) h = m.layer_norm(h, names.norm, optional);
  if (classifies && d.dropout > 0) h = m.dropout(h, 1, 1);
  const graph::ModelBuilder::LogitsOptions logits{
      .tied_to = names.tied_to,
      .name = names.output,
      .classes = classifies ? d.num_labels : d.vocab_size,
      .bias = true,
      .optional = optional};
  if (values == 0) return m.loss(h, logits, classifies ? Score::confusion : Score::correct);
  m.value_loss(h, logits,
               d.problem_type == ProblemType::regression ? operations::ValueLossKind::squared
                                                         : operations::ValueLossKind::binary);
}

}  // namespace trainx::architectures
