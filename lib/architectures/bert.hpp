// BERT (Devlin et al. 2018, arXiv:1810.04805).
#pragma once
#include "program/model_graph.hpp"
#include "architectures/attention.hpp"
#include "architectures/dimension.hpp"
#include "architectures/machine.hpp"
#include "architectures/task.hpp"
#include "options/field.hpp"
#include <cstdint>

namespace trainx::architectures {

using namespace options;

/// As written in a recipe; a dimension that is not set comes from `model.size`, the Hugging Face
/// folder or the data.
struct BertOptions {
  static constexpr std::string_view name = "bert";
  static constexpr std::string_view summary =
      "Bidirectional encoder for masked_lm and classification (base, large)";
  Task task = Task::masked_lm;
  std::optional<std::int64_t> num_labels;
  std::optional<std::int64_t> num_layers, num_heads, hidden_size, intermediate_size, max_positions,
      vocab_size, type_vocab_size;
  Auto<double> dropout;  // of embeddings, residual branches and what the classifier sees; attention
                         // has none; auto: the folder's, else 0
  double initializer_range = 0.02;
  double mask_probability = 0.15;
  std::int64_t mask_token = 103;
  std::vector<std::int64_t> special_tokens{0, 101, 102, 103};
};

/// Decided dimensions.
struct BertDims {
  std::int64_t num_layers = 12, num_heads = 12, hidden_size = 768, intermediate_size = 3072,
               max_positions = 512, vocab_size = 30522, type_vocab_size = 2;
  double dropout = 0;
  double initializer_range = 0.02;
  double layer_norm_epsilon = 1e-12;
  AttentionKind attention = AttentionKind::automatic;  // who computes it
  // its embedding begins as zero and learns from no lookup, as torch.nn.Embedding(padding_idx) has
  // it; -1: none
  std::int64_t pad_token = 0;
  Task task = Task::masked_lm;
  std::int64_t num_labels = 0;      // classification
  std::vector<std::string> labels;  // their names, where the folder has some
  // the head that the folder of these dimensions holds: it is complete, and num_labels are its
  // classes
  std::optional<Task> head = {};
  double mask_probability = 0.15;
  std::int64_t mask_token = 103;
  std::vector<std::int64_t> special_tokens{0, 101, 102, 103};
  // evaluation counts each label against each prediction
  static constexpr std::int64_t most_labels = 4096;
  // the next multiple of 128: tile-friendly; the extra rows stay zero and get no gradient
  std::int64_t padded_vocab_size() const;
  bool operator==(const BertDims&) const = default;
};

template <class Visitor>
void visit_fields(Visitor& field, BertOptions& o) {
  field("task", o.task, anything(), "Task: masked_lm or classification");
  field("num_labels", o.num_labels, between(2, BertDims::most_labels),
        "Classes, for task classification");
  field("num_layers", o.num_layers, at_least(1), "Layers, each attention and MLP");
  field("num_heads", o.num_heads, at_least(1), "Attention heads; divides hidden_size");
  field("hidden_size", o.hidden_size, at_least(1), "Width of the residual stream");
  field("intermediate_size", o.intermediate_size, at_least(1),
        "Width inside the MLP; default: 4 * hidden_size");
  field("max_positions", o.max_positions, at_least(1),
        "Longest sequence; at least data.sequence_length");
  field("vocab_size", o.vocab_size, at_least(1),
        "Tokens of the vocabulary; default: the data's, if it has one");
  field("type_vocab_size", o.type_vocab_size, at_least(1),
        "Segments a token may belong to (2: sentence pairs)");
  field("dropout", o.dropout, unit_interval(),
        "Dropout of embeddings, residual branches and the classifier's input; attention has none. "
        "auto: that of model.init_from's config.json, else 0");
  field("initializer_range", o.initializer_range, positive(),
        "Standard deviation of initial weights");
  field("mask_probability", o.mask_probability,
        Limits{"greater than 0 and at most 1", 0, 1, true, false},
        "masked_lm: share of tokens that become targets if the data names none");
  field("mask_token", o.mask_token, non_negative(), "masked_lm: id that replaces masked tokens");
  field("special_tokens", o.special_tokens, non_negative(), "masked_lm: ids that are never masked");
}

/// Published sizes: "base", "large".
const std::vector<std::pair<std::string_view, BertDims>>& bert_sizes();

/// The blocks embedding, h<i>.attention, h<i>.mlp and the task's head for a micro-batch of
/// `micro_batch_size` samples of `length` tokens.
program::ModelGraph bert_graph(const BertDims& dims, std::int64_t micro_batch_size,
                               std::int64_t length, DType compute, Machine machine = {});

/// The parameter that a tensor of a Hugging Face file is, whichever model of the family wrote it:
/// "bert." before it or not, norms with gamma and beta as the first folders had them. Empty for
/// what is no parameter of this task: position_ids, copies of tied tensors, heads of other tasks.
std::string bert_parameter_name(const BertDims& dims, std::string_view saved_name);

// What every architecture answers, under names that code for all of them calls
// (spec/arch/architecture.hpp).
inline const auto& sizes(const BertOptions&) { return bert_sizes(); }
inline Task task(const BertOptions& o) { return o.task; }
inline Task task(const BertDims& d) { return d.task; }
inline std::int64_t num_labels(const BertDims& d) {
  return d.task == Task::classification ? d.num_labels : 0;
}
std::optional<Masking> masking(const BertDims& d);
std::vector<Dimension> dimensions(BertOptions& o, BertDims& d);
/// What a recipe decides beside dimensions, also for weights that come from a folder. Throws
/// UserError 78 for settings that do not fit together.
void take_settings(BertOptions& o, BertDims& d);

}  // namespace trainx::architectures
