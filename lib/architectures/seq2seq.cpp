#include "architectures/seq2seq.hpp"
#include "architectures/compose.hpp"
#include "core/error.hpp"
#include <cmath>

namespace trainx::architectures {

using graph::Value;
using operations::AttentionMask;

namespace {

class Seq2SeqBuilder {
 public:
  Seq2SeqBuilder(const Seq2SeqDims& d, graph::ModelBuilder& m) : d_(d), m_(m) {}

  void build() {
    Value h = embed(d_.encoder);
    for (std::int64_t i = 0; i < d_.num_layers; ++i) {
      begin_layer(d_.encoder, static_cast<int>(i), i);
      h = residual("attention", h, d_.encoder.attention.norm,
                   [&](Value x) { return attention(x, AttentionMask::lengths); });
      h = residual("mlp", h, d_.encoder.norm, [&](Value x) { return mlp(x); });
    }
    memory_ = finish(h);
    m_.begin_targets(memory_);
    h = embed(d_.decoder);
    for (std::int64_t i = 0; i < d_.num_decoder_layers; ++i) {
      begin_layer(d_.decoder, static_cast<int>(d_.num_layers + i), i);
      h = residual("attention", h, d_.decoder.attention.norm,
                   [&](Value x) { return attention(x, AttentionMask::causal); });
      h = residual("cross", h, d_.decoder.cross.norm, [&](Value x) { return cross(x); });
      h = residual("mlp", h, d_.decoder.norm, [&](Value x) { return mlp(x); });
    }
    m_.begin_head(all_rows(m_, d_.tied() ? d_.padded_vocab_size() : d_.vocab_size));
    m_.loss(finish(h),
            {.tied_to = d_.tied() ? d_.embedding + ".weight" : "",
             .name = d_.head,
             .classes = d_.vocab_size,
             .constant_bias = d_.constant_bias,
             .initializer_range = d_.widths_scale_weights ? d_.initializer_range : 0,
             .scale = d_.logit_scale},
            operations::CrossEntropy::Score::none);
  }

 private:
  bool is_decoder() const { return side_ == &d_.decoder; }
  std::int64_t heads() const { return is_decoder() ? d_.num_decoder_heads : d_.num_heads; }
  std::int64_t head_size() const {
    return d_.head_size > 0 ? d_.head_size : d_.hidden_size / heads();
  }
  std::string name(const std::string& below) const {
    return side_->layers + "." + std::to_string(layer_) + "." + below;
  }
  /// Standard deviation of weights whose results sum so many products; 0: the options'.
  double range(std::int64_t products) const {
    return d_.widths_scale_weights ? d_.initializer_range / std::sqrt(static_cast<double>(products))
                                   : 0;
  }

  Value embed(const SideNames& side) {
    side_ = &side;
    return m_.embedding({.hidden_size = d_.hidden_size,
                         .token = d_.embedding + ".weight",
                         .position = side.position.empty() ? "" : side.position + ".weight",
                         .tokens = {.rows = d_.vocab_size,
                                    .padded_rows = d_.padded_vocab_size(),
                                    .group = "shared",
                                    .zero_row = d_.pad_token >= 0 ? d_.pad_token : graph::none,
                                    .initializer_range = range(1)},
                         .positions = {d_.max_positions + d_.first_position, 0,
                                       is_decoder() ? "target_positions" : "positions"},
                         .norm = side.embedding_norm,
                         .scale = d_.embedding_scale,
                         .scales_tokens = true,
                         .first_position = d_.first_position});
  }

  void begin_layer(const SideNames& side, int number, std::int64_t layer) {
    side_ = &side, number_ = number, layer_ = layer;
  }

  Value residual(const std::string& part, Value h, const std::string& norm,
                 const graph::ModelBuilder::Branch& f) {
    if (!d_.norms_before) return m_.residual_then_norm(number_, part, h, f, name(norm));
    return m_.residual(number_, part, h, [&](Value x) { return f(m_.layer_norm(x, name(norm))); });
  }

  /// What a side ends with.
  Value finish(Value h) {
    if (side_->final_norm.empty()) return h;
    h = m_.layer_norm(h, side_->final_norm);
    return d_.drops_output ? dropped(h, d_.dropout, 2) : h;
  }
  Value dropped(Value x, double probability, int site) {
    return probability > 0 ? m_.dropout(x, m_.length(), site, probability) : x;
  }

  Value product(Value x, const SideNames::Attention& names, std::size_t first, std::size_t count) {
    const std::int64_t width = heads() * head_size(), all = d_.hidden_size;
    graph::LinearOptions o{.features = width * static_cast<std::int64_t>(count), .bias = d_.biases};
    for (std::size_t i = first; i < first + count; ++i) {
      o.parts.push_back(name(names.query_key_value[i]));
      if (d_.widths_scale_weights)
        o.initializer_ranges.push_back(range(i == 0 ? all * head_size() : all));
    }
    return m_.linear(x, "", o);
  }
  Value attended(Value queries, AttentionMask mask, const SideNames::Attention& names,
                 Value memory = {}) {
    graph::AttentionOptions o{.heads = heads(),
                              .key_value_heads = heads(),
                              .head_size = head_size(),
                              .mask = mask,
                              .kind = d_.attention,
                              .scale = d_.score_scale};
    if (memory.id == graph::none && !side_->bias.empty()) {
      o.bias = d_.bias;
      o.bias.both_sides = !is_decoder();
      o.bias_table = side_->bias + ".weight";
      o.bias_range = range(d_.hidden_size);
    }
    return m_.linear(m_.attention(queries, o, memory), name(names.out),
                     {.features = d_.hidden_size,
                      .bias = d_.biases,
                      .initializer_range = range(heads() * head_size())});
  }
  Value attention(Value x, AttentionMask mask) {
    return attended(product(x, side_->attention, 0, 3), mask, side_->attention);
  }
  Value cross(Value x) {
    const Value queries = product(x, side_->cross, 0, 1),
                memory = product(memory_, side_->cross, 1, 2);
    return attended(queries, AttentionMask::lengths, side_->cross, memory);
  }

  Value mlp(Value x) {
    const std::int64_t width = is_decoder() ? d_.decoder_intermediate_size : d_.intermediate_size;
    graph::LinearOptions up{.features = width * (d_.gated ? 2 : 1),
                            .bias = d_.biases,
                            .activation = d_.gated ? operations::Activation::none : d_.activation,
                            .initializer_range = range(d_.hidden_size)};
    for (const std::string& part : side_->up) up.parts.push_back(name(part));
    x = m_.linear(x, "", up);
    if (d_.gated) x = m_.gated(x, d_.activation);
    x = dropped(x, d_.activation_dropout, 1);
    return m_.linear(
        x, name(side_->down),
        {.features = d_.hidden_size, .bias = d_.biases, .initializer_range = range(width)});
  }

  const Seq2SeqDims& d_;
  graph::ModelBuilder& m_;
  const SideNames* side_ = nullptr;
  int number_ = 0;          // of all layers
  std::int64_t layer_ = 0;  // of the side's
  Value memory_;
};

}  // namespace

std::int64_t target_length(const Seq2SeqDims& d, std::int64_t source_length) {
  return (d.longest_target * source_length + d.longest_source - 1) / d.longest_source;
}

graph::Model model_of(const Seq2SeqDims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options) {
  if (length > d.max_positions) throw InternalError("seq2seq: rows are too long");
  graph::BuilderOptions options = builder_options(micro_batch_size, length, compute, graph_options);
  options.target_length = target_length(d, length);
  options.dropout = d.dropout;
  options.attention_dropout = d.attention_dropout;
  options.label_smoothing = d.label_smoothing;
  options.z_loss = d.z_loss;
  options.epsilon = d.layer_norm_epsilon;
  options.initializer_range = d.initializer_range;
  options.any_norms = true;  // sums stay with their branches where a side ends
  options.rms = d.rms;
  options.norm_shift = !d.rms;
  graph::ModelBuilder m(options, {"tokens", "targets", "positions", "lengths", "target_tokens"});
  Seq2SeqBuilder(d, m).build();
  return m.finish();
}

program::ModelGraph graph_of(const Seq2SeqDims& d, std::int64_t micro_batch_size,
                             std::int64_t length, DType compute, GraphOptions graph_options) {
  return compose(model_of(d, micro_batch_size, length, compute, graph_options), graph_options);
}

}  // namespace trainx::architectures
