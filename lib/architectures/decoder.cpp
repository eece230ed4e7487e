#include "architectures/decoder.hpp"
#include "architectures/compose.hpp"
#include "core/error.hpp"

namespace trainx::architectures {

using graph::Value;
using operations::AttentionMask;

namespace {

class DecoderBuilder {
 public:
  DecoderBuilder(const DecoderDims& d, graph::ModelBuilder& m) : d_(d), m_(m) {}

  void build() {
    // a tied table, which the head begins a gradient of, is no group of its norm's
    const char* const table = d_.names.embedding_norm.empty() ? "embedding" : "word";
    Value h =
        m_.embedding({.hidden_size = d_.hidden_size,
                      .token = d_.names.embedding + ".weight",
                      .position = d_.names.position.empty() ? "" : d_.names.position + ".weight",
                      .tokens = {d_.vocab_size, d_.padded_vocab_size(), table,
                                 d_.pad_token >= 0 ? d_.pad_token : graph::none},
                      .positions = {d_.max_positions + d_.first_position, 0, "positions"},
                      .scale = d_.embedding_scale,
                      .first_position = d_.first_position});
    if (d_.norms_embedding) h = m_.layer_norm(h, d_.names.embedding_norm);
    for (layer_ = 0; layer_ < d_.num_layers; ++layer_) h = layer(h);
    m_.begin_head(all_rows(m_, d_.tied ? d_.padded_vocab_size() : d_.vocab_size));
    m_.loss(m_.layer_norm(h, d_.names.final_norm),
            {.tied_to = d_.tied ? d_.names.embedding + ".weight" : "",
             .name = d_.names.head,
             .classes = d_.vocab_size,
             .bias = d_.head_bias,
             .optional = true,
             .scale = d_.logit_scale,
             .soft_cap = d_.logit_cap},
            operations::CrossEntropy::Score::none);
  }

 private:
  std::string name(const std::string& below) const {
    return d_.names.layers + "." + std::to_string(layer_) + "." + below;
  }
  std::vector<std::string> parts(const std::vector<std::string>& below) const {
    std::vector<std::string> out;
    for (const std::string& n : below) out.push_back(name(n));
    return out;
  }

  Value layer(Value h) {
    const auto attend = [&](Value x) {
      return after(attention(before(x, d_.names.norm1)), d_.names.post1);
    };
    const auto transform = [&](Value x) {
      return after(transformed(before(x, d_.names.norm2)), d_.names.post2);
    };
    const int number = static_cast<int>(layer_);
    if (d_.parallel == DecoderDims::Parallel::no)
      return m_.residual(number, "mlp", m_.residual(number, "attention", h, attend), transform);
    if (d_.parallel == DecoderDims::Parallel::two_norms)
      return m_.parallel_residual(number, "layer", h, attend, transform);
    Value normed;
    return m_.parallel_residual(
        number, "layer", h, [&](Value x) { return attention(normed = before(x, d_.names.norm1)); },
        [&](Value) { return transformed(normed); });
  }
  Value before(Value x, const std::string& norm) {
    return d_.norms_before ? m_.layer_norm(x, name(norm)) : x;
  }
  Value after(Value x, const std::string& norm) {
    return d_.norms_after ? m_.layer_norm(x, name(norm)) : x;
  }

  Value attention(Value x) {
    x = attend(d_.latent ? latent_heads(x) : heads(x));
    return m_.linear(x, name(d_.names.out), {.features = d_.hidden_size, .bias = d_.out_bias});
  }

  Value heads(Value x) {
    const std::int64_t Q = d_.num_heads * d_.head_size, K = d_.num_key_value_heads * d_.head_size;
    graph::LinearOptions product{.features = Q + 2 * K,
                                 .parts = parts(d_.names.qkv),
                                 .bias = d_.qkv_bias,
                                 .saved_heads = d_.by_head ? d_.num_heads : 0};
    if (product.parts.size() == 3) product.widths = {Q, K, K};
    x = m_.linear(x, "", product);
    const int rope = d_.layer_rope[static_cast<std::size_t>(layer_)];
    const bool norms = d_.head_norms != DecoderDims::HeadNorms::none;
    if (norms && !d_.norms_after_rope) x = head_norm(x);
    if (rope >= 0 || d_.clip > 0) x = turn(x, rope);
    return norms && d_.norms_after_rope ? head_norm(x) : x;
  }

  /// Norms of narrow rows have an epsilon of their own.
  Value latent_heads(Value x) {
    const Latent& l = d_.latent;
    constexpr double epsilon = 1e-6;
    const auto product = [&](Value from, const char* below, std::int64_t features, bool bias) {
      return m_.linear(from, name(std::string("self_attn.") + below),
                       {.features = features, .bias = bias});
    };
    const auto norm = [&](Value from, const char* below) {
      return m_.layer_norm(from, name(std::string("self_attn.") + below), false, epsilon);
    };
    const std::int64_t Q = d_.num_heads * d_.head_size;
    const auto narrow_queries = [&] {
      return norm(product(x, "q_a_proj", l.query_rank, l.bias), "q_a_layernorm");
    };
    const Value queries = l.query_rank > 0 ? product(narrow_queries(), "q_b_proj", Q, false)
                                           : product(x, "q_proj", Q, false);
    const Value narrow = product(x, "kv_a_proj_with_mqa", l.key_value_rank + l.rope, l.bias);
    const Value keys_values =
        product(norm(m_.columns(narrow, {.count = l.key_value_rank}), "kv_a_layernorm"),
                "kv_b_proj", d_.num_heads * (l.plain + l.value_size), false);
    x = m_.latent_heads(
        queries, keys_values, narrow,
        {.heads = d_.num_heads, .plain = l.plain, .rope = l.rope, .value_size = l.value_size});
    return turn(x, d_.layer_rope[static_cast<std::size_t>(layer_)]);
  }

  Value attend(Value x) {
    const auto i = static_cast<std::size_t>(layer_);
    return m_.attention(x, {.heads = d_.num_heads,
                            .key_value_heads = d_.num_key_value_heads,
                            .head_size = d_.head_size,
                            .mask = d_.packed ? AttentionMask::documents : AttentionMask::causal,
                            .kind = d_.attention,
                            .scale = d_.score_scale,
                            .window = d_.windows[i],
                            .soft_cap = d_.score_cap,
                            .alibi = d_.alibi,
                            .sinks = d_.names.sinks.empty() ? "" : name(d_.names.sinks),
                            .value_size = d_.latent.value_size});
  }

  Value turn(Value x, int rope) {
    operations::Rotary r{.query_heads = d_.num_heads,
                         .key_value_heads = d_.num_key_value_heads,
                         .head_size = d_.head_size,
                         .length = m_.options().length,
                         .neighbours = d_.neighbours,
                         .clip = d_.clip};
    if (rope >= 0) {
      RopeTable table = rope_table(d_.ropes[static_cast<std::size_t>(rope)],
                                   d_.latent ? d_.latent.rope : d_.head_size, m_.options().length);
      r.frequencies = std::move(table.frequencies);
      r.factor = table.factor;
      for (float& f : r.frequencies) f *= static_cast<float>(d_.rope_direction);
    }
    return m_.rotary(x, r);
  }

  Value head_norm(Value x) {
    using enum DecoderDims::HeadNorms;
    const bool of_columns = d_.head_norms == whole || d_.head_norms == each_head;
    const std::int64_t D = d_.head_size;
    graph::HeadNormOptions o{.query_columns = of_columns ? d_.num_heads * D : D,
                             .key_columns = of_columns ? d_.num_key_value_heads * D : D,
                             .bias = d_.head_norm_bias,
                             .norm = {.query_heads = d_.num_heads,
                                      .key_value_heads = d_.num_key_value_heads,
                                      .head_size = D,
                                      .whole = d_.head_norms == whole,
                                      .rms = d_.rms,
                                      .epsilon = d_.layer_norm_epsilon,
                                      .weight_offset = d_.norm_offset}};
    if (d_.head_norm_weight) o.query = name(d_.names.query_norm), o.key = name(d_.names.key_norm);
    if (d_.separate_head_norms)
      o.query_parts = static_cast<int>(d_.num_heads),
      o.key_parts = static_cast<int>(d_.num_key_value_heads);
    else if (d_.head_norms == each_head)
      o.query_rows = d_.num_heads, o.key_rows = d_.num_key_value_heads;
    return m_.head_norm(x, o);
  }

  Value transformed(Value x) {
    return d_.experts.in(layer_) ? mixture(x)
                                 : mlp(x, d_.names.up, d_.names.down, d_.intermediate_size);
  }

  Value mlp(Value x, const std::vector<std::string>& up, const std::string& down,
            std::int64_t width) {
    x = m_.linear(x, "",
                  {.features = width * (d_.gated ? 2 : 1),
                   .parts = parts(up),
                   .bias = d_.mlp_bias,
                   .activation = d_.gated ? operations::Activation::none : d_.activation});
    if (d_.gated) x = m_.gated(x, d_.activation);
    return m_.linear(x, name(down), {.features = d_.hidden_size, .bias = d_.mlp_bias});
  }

  Value mixture(Value x) {
    const Experts& e = d_.experts;
    const ExpertNames& n = e.names;
    Value shared, gate;
    if (e.shared_features > 0)
      shared = mlp(x, {n.shared + ".gate_proj", n.shared + ".up_proj"}, n.shared + ".down_proj",
                   e.shared_features);
    if (!n.shared_gate.empty())
      gate = m_.linear(x, name(n.shared_gate), {.features = 1, .bias = false});
    return m_.mixture(x,
                      {.router = e.router,
                       .features = e.features,
                       .activation = d_.activation,
                       .router_name = name(n.router),
                       .correction = n.correction.empty() ? "" : name(n.correction),
                       .experts = name(n.experts),
                       .up = n.stacked ? parts(n.up) : n.up,
                       .down = n.stacked ? name(n.down) : n.down,
                       .stacked = n.stacked,
                       .transposed = n.transposed,
                       .biased = e.biased,
                       .router_biased = e.biased,
                       .clamped = e.clamped,
                       .loss = e.loss,
                       .z_loss = e.z_loss,
                       .balance_rate = e.balance_rate},
                      shared, gate);
  }

  const DecoderDims& d_;
  graph::ModelBuilder& m_;
  std::int64_t layer_ = 0;
};

}  // namespace

graph::Model model_of(const DecoderDims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options) {
  if (length > d.max_positions) throw InternalError("decoder: rows are too long");
  graph::BuilderOptions options = builder_options(micro_batch_size, length, compute, graph_options);
  take_training(options, d);
  options.epsilon = d.layer_norm_epsilon;
  options.initializer_range = d.initializer_range;
  options.any_norms = true;
  options.rms = d.rms;
  options.norm_weight = d.norm_weight;
  options.norm_shift = d.norm_shift;
  options.norm_offset = d.norm_offset;
  options.branch_scale = d.branch_scale;
  std::vector<std::string> batch{"tokens", "targets", "positions"};
  if (d.packed) batch.emplace_back("document_starts");
  graph::ModelBuilder m(options, batch);
  DecoderBuilder(d, m).build();
  return m.finish();
}

program::ModelGraph graph_of(const DecoderDims& d, std::int64_t micro_batch_size,
                             std::int64_t length, DType compute, GraphOptions graph_options) {
  return compose(model_of(d, micro_batch_size, length, compute, graph_options), graph_options);
}

namespace {

/// Of a layer behind the model's, which folders hold to predict tokens further ahead.
bool is_of_later_layer(const DecoderDims& d, std::string_view saved_name) {
  for (std::int64_t i = 0; i < d.experts.later_layers; ++i)
    if (saved_name.starts_with(d.names.layers + "." + std::to_string(d.num_layers + i) + "."))
      return true;
  return false;
}

}  // namespace

/// A tied head is the embedding.
std::string parameter_of(const DecoderDims& d, std::string_view saved_name) {
  if (is_of_later_layer(d, saved_name)) return {};
  if (d.tied && saved_name == d.names.head + ".weight") return d.names.embedding + ".weight";
  // a folder of the model without its head, as its base class saves it
  const std::size_t prefix = d.names.embedding.find('.') + 1;
  for (const std::string* name : {&d.names.embedding, &d.names.position, &d.names.layers,
                                  &d.names.final_norm, &d.names.embedding_norm})
    if (name->size() > prefix && saved_name.starts_with(name->substr(prefix) + "."))
      return name->substr(0, prefix) + std::string(saved_name);
  return std::string(saved_name);
}

}  // namespace trainx::architectures
