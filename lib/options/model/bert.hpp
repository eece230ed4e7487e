#pragma once
#include "options/model/encoder.hpp"
#include "options/model/transformer.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::options {

struct BertOptions {
  std::string name = "bert";
  std::string summary;
  Task task = Task::masked_lm;
  std::optional<std::int64_t> num_labels;
  Auto<ProblemType> problem_type;
  std::optional<std::int64_t> num_layers, num_heads, hidden_size, intermediate_size, max_positions,
      vocab_size, type_vocab_size, embedding_size;
  Auto<double> dropout, attention_dropout;
  double label_smoothing = 0, z_loss = 0;
  double initializer_range = 0.02, mask_probability = 0.15;
  Auto<std::int64_t> mask_token;
  Auto<std::vector<std::int64_t>> special_tokens;
  /// One of each family. Defined in lib/architectures (published.hpp).
  static const std::vector<BertOptions>& described();
};

template <class Visitor>
void visit_fields(Visitor& field, BertOptions& o) {
  task_fields(field, o);
  size_fields(field, o);
  field("type_vocab_size", o.type_vocab_size, at_least(1),
        "Segments a token may belong to (2: sentence pairs)");
  field("embedding_size", o.embedding_size, at_least(1),
        "Columns of embeddings, which ELECTRA projects to hidden_size");
  training_fields(field, o, "embeddings, residual branches and the classifier's input");
  masking_fields(field, o);
}

}  // namespace trainx::options
