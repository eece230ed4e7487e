// What transformers have in common, as templates over an architecture's options and dims. Their
// members have the same names in all architectures; a member that only some have is optional here.
//
// An architecture <A> is <A>Options (lib/options/model: as written in a recipe), <A>Dims (decided)
// and these functions:
//   sizes         published sizes by name
//   graph_of      the blocks embedding, h<i>.attention, h<i>.mlp and the task's head for a
//                 micro-batch of `micro_batch_size` samples of `length` tokens
//   config_keys   config.json, read or written. Throws UserError 65 naming the key for impossible
//                 dimensions and for settings that trainx does not compute.
//   remarks_of    what config.json asks of dropout that `d` does not train with, a sentence each
//   parameter_of  the parameter that a tensor of a Hugging Face file is; empty for tensors that are
//                 no parameter of the task
#pragma once
#include "program/model_graph.hpp"
#include "architectures/encoder_task.hpp"
#include "architectures/graph_options.hpp"
#include "options/model/attention.hpp"
#include "options/model/transformer.hpp"
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::architectures {

class ConfigKeys;
class ConfigReader;

using namespace options;
using options::task;

/// Published sizes by name; the first is the default.
template <class Dims>
using Sizes = std::vector<std::pair<std::string_view, Dims>>;

/// The model.type that the dims are of.
template <class Dims>
std::string_view family_of(const Dims& d) {
  if constexpr (requires { d.family; })
    return d.family;
  else
    return Dims::Options::name;
}

/// The next multiple of 128, which fills tiles of matrix products. The extra rows of the embedding
/// stay zero and get no gradient.
constexpr std::int64_t whole_tiles(std::int64_t vocab_size) {
  return (vocab_size + 127) / 128 * 128;
}

/// A size of a model, as a recipe may write it and as it was decided.
struct Dimension {
  const char* key;  // below model.options
  std::optional<std::int64_t>& written;
  std::int64_t& decided;
};

/// Sizes that a recipe may set, in the order of their checks. num_labels is one if the folder holds
/// a classifier.
template <Transformer Options, Transformer Dims>
std::vector<Dimension> dimensions(Options& o, Dims& d) {
  std::vector<Dimension> all{{"num_layers", o.num_layers, d.num_layers},
                             {"num_heads", o.num_heads, d.num_heads},
                             {"hidden_size", o.hidden_size, d.hidden_size},
                             {"intermediate_size", o.intermediate_size, d.intermediate_size},
                             {"max_positions", o.max_positions, d.max_positions},
                             {"vocab_size", o.vocab_size, d.vocab_size}};
  if constexpr (requires { o.type_vocab_size; })
    if (d.type_vocab_size > 0)
      all.push_back({"type_vocab_size", o.type_vocab_size, d.type_vocab_size});
  if constexpr (requires { o.embedding_size; })
    if (d.embedding_size > 0) all.push_back({"embedding_size", o.embedding_size, d.embedding_size});
  if constexpr (Encoder<Options>)
    if (has_labels(o.task) && d.head == o.task)
      all.push_back({"num_labels", o.num_labels, d.num_labels});
  return all;
}

/// What a recipe decides beside dimensions, also for weights that come from a folder. Throws
/// UserError 78 for settings that do not fit together.
template <Transformer Options, Transformer Dims>
void take_settings(Options& o, Dims& d) {
  if constexpr (Encoder<Options>) take_task(o, d);
  if (!o.dropout.is_auto()) d.dropout = *o.dropout.value;
  o.dropout.value = d.dropout;
  if (!o.attention_dropout.is_auto()) d.attention_dropout = *o.attention_dropout.value;
  o.attention_dropout.value = d.attention_dropout;
  d.label_smoothing = o.label_smoothing;
  d.z_loss = o.z_loss;
  d.initializer_range = o.initializer_range;
}

template <Transformer Dims>
std::int64_t num_labels(const Dims& d) {
  if constexpr (Encoder<Dims>) return has_labels(d.task) ? d.num_labels : 0;
  return 0;
}

/// Of a sample of classification.
template <Transformer Dims>
ProblemType problem_type(const Dims& d) {
  if constexpr (Encoder<Dims>) return d.problem_type;
  return ProblemType::single_label_classification;
}

template <Transformer Dims>
std::optional<Masking> masking(const Dims& d) {
  if (task(d) != Task::masked_lm) return std::nullopt;
  if constexpr (Encoder<Dims>)
    return Masking{d.mask_probability, d.mask_token, d.vocab_size, d.special_tokens};
  return std::nullopt;
}

}  // namespace trainx::architectures
