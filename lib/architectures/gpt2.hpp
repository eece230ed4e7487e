// GPT-2 (Radford et al. 2019).
#pragma once
#include "program/model_graph.hpp"
#include "architectures/attention.hpp"
#include "architectures/dimension.hpp"
#include "architectures/machine.hpp"
#include "architectures/task.hpp"
#include "options/field.hpp"
#include <cstdint>
#include <thread>

namespace trainx::architectures {

using namespace options;

/// As written in a recipe; a dimension that is not set comes from `model.size`, the Hugging Face
/// folder or the data.
struct Gpt2Options {
  static constexpr std::string_view name = "gpt2";
  static constexpr std::string_view summary =
      "Decoder-only transformer with learned positions (124m, 350m, 774m, 1558m)";
  std::optional<std::int64_t> num_layers, num_heads, hidden_size, intermediate_size, max_positions,
      vocab_size;
  Auto<double> dropout;  // embedding and residual dropout; auto: the folder's, else 0
  double initializer_range = 0.02;
};

template <class Visitor>
void visit_fields(Visitor& field, Gpt2Options& o) {
  field("num_layers", o.num_layers, at_least(1), "Layers, each attention and MLP");
  field("num_heads", o.num_heads, at_least(1), "Attention heads; divides hidden_size");
  field("hidden_size", o.hidden_size, at_least(1), "Width of the residual stream");
  field("intermediate_size", o.intermediate_size, at_least(1),
        "Width inside the MLP; default: 4 * hidden_size");
  field("max_positions", o.max_positions, at_least(1),
        "Longest sequence; at least data.sequence_length");
  field("vocab_size", o.vocab_size, at_least(1),
        "Tokens of the vocabulary; default: the data's, if it has one");
  field("dropout", o.dropout, unit_interval(),
        "Dropout of embeddings and residual branches; attention has none. auto: that of "
        "model.init_from's config.json, else 0");
  field("initializer_range", o.initializer_range, positive(),
        "Standard deviation of initial weights; 0.02 suits published sizes, narrow models learn "
        "sooner with more");
}

/// Decided dimensions.
struct Gpt2Dims {
  std::int64_t num_layers = 12, num_heads = 12, hidden_size = 768, intermediate_size = 3072,
               max_positions = 1024, vocab_size = 50257;
  double dropout = 0;
  // GPT-2's; residual projections get it over sqrt(2 * num_layers)
  double initializer_range = 0.02;
  double layer_norm_epsilon = 1e-5;
  AttentionKind attention = AttentionKind::automatic;  // who computes it
  // a row may hold several documents, each of which sees itself alone and counts its positions from
  // 0
  bool packed = false;
  // the next multiple of 128: tile-friendly; the extra rows stay zero and get no gradient
  std::int64_t padded_vocab_size() const;
  bool operator==(const Gpt2Dims&) const = default;
};

/// Published sizes: "124m", "350m", "774m", "1558m".
const std::vector<std::pair<std::string_view, Gpt2Dims>>& gpt2_sizes();

/// The blocks embedding, h<i>.attention, h<i>.mlp, head for a micro-batch of `micro_batch_size`
/// samples of `length` tokens. `machine`: what computes them.
program::ModelGraph gpt2_graph(const Gpt2Dims& dims, std::int64_t micro_batch_size,
                               std::int64_t length, DType compute, Machine machine = {});

/// The parameter that a tensor of a Hugging Face file is ("transformer." before it or not); empty
/// for what such files hold besides: causal masks (attn.bias, attn.masked_bias) and the copy of the
/// tied embedding (lm_head.weight).
std::string gpt2_parameter_name(std::string_view saved_name);

// What every architecture answers, under names that code for all of them calls
// (spec/arch/architecture.hpp).
inline const auto& sizes(const Gpt2Options&) { return gpt2_sizes(); }
inline Task task(const Gpt2Options&) { return Task::causal_lm; }
inline Task task(const Gpt2Dims&) { return Task::causal_lm; }
inline std::int64_t num_labels(const Gpt2Dims&) { return 0; }
inline std::optional<Masking> masking(const Gpt2Dims&) { return std::nullopt; }
std::vector<Dimension> dimensions(Gpt2Options& o, Gpt2Dims& d);
/// What a recipe decides beside dimensions, also for weights that come from a folder.
inline void take_settings(Gpt2Options& o, Gpt2Dims& d) {
  if (!o.dropout.is_auto()) d.dropout = *o.dropout.value;
  o.dropout.value = d.dropout;
  d.initializer_range = o.initializer_range;
}

}  // namespace trainx::architectures
