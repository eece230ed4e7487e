#pragma once
#include "options/model/transformer.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::options {

struct Seq2SeqOptions {
  std::string name = "t5";  // the family
  std::string summary;
  Task task = Task::seq2seq;
  std::optional<std::int64_t> num_layers, num_decoder_layers, num_heads, head_size, hidden_size,
      intermediate_size, max_positions, vocab_size;
  Auto<double> dropout, attention_dropout;
  double label_smoothing = 0, z_loss = 0;
  double initializer_range = 0.02;
  /// One of each family. Defined in lib/architectures (published.hpp).
  static const std::vector<Seq2SeqOptions>& described();
};

template <class Visitor>
void visit_fields(Visitor& field, Seq2SeqOptions& o) {
  field("task", o.task, anything(), "Task: seq2seq");
  size_fields(field, o);
  field("num_decoder_layers", o.num_decoder_layers, at_least(1),
        "Layers of the decoder; default: num_layers, which are the encoder's");
  field("head_size", o.head_size, at_least(1), "Elements of a head; default: the published size's");
  training_fields(field, o, "embeddings, residual branches, MLPs and the decoder's output",
                  ", where the family's follow from no widths (t5)");
}

}  // namespace trainx::options
