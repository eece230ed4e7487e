#include "architectures/bert.hpp"
#include "core/error.hpp"
#include "architectures/families/encoder_family.hpp"

namespace trainx::architectures {

using graph::Value;

namespace {

class EncoderBuilder {
 public:
  EncoderBuilder(const BertDims& d, graph::ModelBuilder& m)
      : d_(d), m_(m), names_(encoder_family(d.family).names) {}

  void build() {
    const auto below = [&](const std::string& name) {
      return name.empty() ? "" : names_.prefix + name + ".weight";
    };
    Value h = m_.embedding({.hidden_size = d_.embedding_columns(),
                            .token = below(names_.token),
                            .position = below(names_.position),
                            .type = below(names_.type),
                            .tokens = {d_.vocab_size, d_.padded_vocab_size(), "word",
                                       d_.pad_token >= 0 ? d_.pad_token : graph::none},
                            .positions = {d_.max_positions + d_.first_position},
                            .types = {d_.type_vocab_size},
                            .norm = names_.prefix + names_.embedding_norm,
                            .first_position = d_.first_position});
    if (d_.embedding_columns() != d_.hidden_size)
      h = m_.stage("projection", h, [&](Value x) {
        return m_.linear(x, names_.prefix + names_.projection, {.features = d_.hidden_size});
      });
    for (layer_ = 0; layer_ < d_.num_layers; ++layer_) h = layer(h);
    head(h);
  }

 private:
  std::string name(const std::string& below) const {
    return names_.prefix + names_.layers + "." + std::to_string(layer_) + "." + below;
  }

  Value layer(Value h) {
    const int number = static_cast<int>(layer_);
    if (!d_.norms_before) {
      const auto attend = [&](Value x) { return attention(x); };
      const auto transform = [&](Value x) { return mlp(x); };
      h = m_.residual_then_norm(number, "attention", h, attend, name(names_.norm1));
      return m_.residual_then_norm(number, "mlp", h, transform, name(names_.norm2));
    }
    // what the first layer reads comes out of the embeddings' norm
    const auto attend = [&](Value x) {
      return attention(layer_ == 0 ? x : m_.layer_norm(x, name(names_.norm1)));
    };
    const auto transform = [&](Value x) { return mlp(m_.layer_norm(x, name(names_.norm2))); };
    return m_.residual(number, "mlp", m_.residual(number, "attention", h, attend), transform);
  }

  Value attention(Value x) {
    graph::AttentionOptions heads = attention_options(d_, operations::AttentionMask::lengths);
    x = m_.linear(x, name(""),
                  {.features = 3 * d_.hidden_size, .parts = names_.qkv, .bias = d_.attention_bias});
    const bool everywhere = !d_.rotates() || d_.looks_everywhere(layer_);
    if (d_.rotates()) x = turn(x, everywhere ? d_.global_rope : d_.local_rope, heads.head_size);
    if (!everywhere) heads.window = d_.window;
    return m_.linear(m_.attention(x, heads), name(names_.out),
                     {.features = d_.hidden_size, .bias = d_.attention_bias});
  }

  Value turn(Value x, const Rope& rope, std::int64_t head_size) {
    RopeTable table = rope_table(rope, head_size, m_.options().length);
    return m_.rotary(x, {.query_heads = d_.num_heads,
                         .key_value_heads = d_.num_heads,
                         .head_size = head_size,
                         .length = m_.options().length,
                         .frequencies = std::move(table.frequencies),
                         .factor = table.factor});
  }

  Value mlp(Value x) {
    x = m_.linear(x, name(names_.up),
                  {.features = d_.intermediate_size * (d_.gated ? 2 : 1),
                   .bias = d_.mlp_bias,
                   .activation = d_.gated ? Activation::none : Activation::gelu_erf});
    if (d_.gated) x = m_.gated(x, Activation::gelu_erf);
    return m_.linear(x, name(names_.down), {.features = d_.hidden_size, .bias = d_.mlp_bias});
  }

  void head(Value h) {
    const auto norm = [&](Value x) { return m_.layer_norm(x, names_.prefix + names_.final_norm); };
    const bool pools = d_.pools_mean && d_.task == Task::classification;
    if (pools) h = m_.stage("final_norm", h, norm);  // of all rows
    m_.begin_head(head_rows(m_, d_));
    h = pools ? m_.mean_pool(h) : d_.norms_before ? norm(h) : h;
    names_.masked_lm.tied_to = names_.prefix + names_.token + ".weight";
    add_head(m_, d_, h,
             d_.task == Task::masked_lm        ? names_.masked_lm
             : d_.task == Task::classification ? names_.classification
                                               : names_.token_classification);
  }

  const BertDims& d_;
  graph::ModelBuilder& m_;
  EncoderNames names_;
  std::int64_t layer_ = 0;
};

}  // namespace

graph::Model model_of(const BertDims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options) {
  graph::BuilderOptions options =
      builder_options(d, micro_batch_size, length, compute, graph_options);
  options.any_norms = d.norms_before;
  options.norm_shift = d.norm_shift;
  graph::ModelBuilder m(options, encoder_batch(d));
  EncoderBuilder(d, m).build();
  return m.finish();
}

program::ModelGraph graph_of(const BertDims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, GraphOptions graph_options) {
  return compose(model_of(d, micro_batch_size, length, compute, graph_options), graph_options);
}

}  // namespace trainx::architectures
