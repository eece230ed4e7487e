#include "architectures/gpt2.hpp"
#include "core/error.hpp"
#include "architectures/compose.hpp"
#include <cmath>

namespace trainx::architectures {

using graph::Value;

std::int64_t Gpt2Dims::padded_vocab_size() const { return (vocab_size + 127) / 128 * 128; }

const std::vector<std::pair<std::string_view, Gpt2Dims>>& gpt2_sizes() {
  static const std::vector<std::pair<std::string_view, Gpt2Dims>> sizes{
      {"124m", {.num_layers = 12, .num_heads = 12, .hidden_size = 768, .intermediate_size = 3072}},
      {"350m", {.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096}},
      {"774m", {.num_layers = 36, .num_heads = 20, .hidden_size = 1280, .intermediate_size = 5120}},
      {"1558m",
       {.num_layers = 48, .num_heads = 25, .hidden_size = 1600, .intermediate_size = 6400}}};
  return sizes;
}

std::vector<Dimension> dimensions(Gpt2Options& o, Gpt2Dims& d) {
  return {{"num_layers", o.num_layers, d.num_layers},
          {"num_heads", o.num_heads, d.num_heads},
          {"hidden_size", o.hidden_size, d.hidden_size},
          {"intermediate_size", o.intermediate_size, d.intermediate_size},
          {"max_positions", o.max_positions, d.max_positions},
          {"vocab_size", o.vocab_size, d.vocab_size}};
}

program::ModelGraph gpt2_graph(const Gpt2Dims& d, std::int64_t micro_batch_size,
                               std::int64_t length, DType compute, Machine machine) {
  if (d.hidden_size % d.num_heads != 0 || length > d.max_positions)
    throw InternalError("gpt2_graph: num_heads does not divide hidden_size, or length is too long");
  graph::BuilderOptions options = builder_options(micro_batch_size, length, compute, machine);
  options.dropout = d.dropout;
  options.epsilon = d.layer_norm_epsilon;
  options.initializer_range = d.initializer_range;
  options.transposed_linears = true;
  std::vector<std::string> batch{"tokens", "targets", "positions"};
  if (d.packed) batch.push_back("document_starts");
  graph::ModelBuilder m(options, batch);
  // of what a layer adds to the residual
  const double closing = d.initializer_range / std::sqrt(2.0 * static_cast<double>(d.num_layers));
  const graph::AttentionOptions heads{
      .heads = d.num_heads,
      .key_value_heads = d.num_heads,
      .head_size = d.hidden_size / d.num_heads,
      .mask = d.packed ? operations::AttentionMask::documents : operations::AttentionMask::causal,
      .kind = d.attention};
  Value h = m.embedding({.hidden_size = d.hidden_size,
                         .token = "wte.weight",
                         .position = "wpe.weight",
                         .tokens = {d.vocab_size, d.padded_vocab_size(), "wte"},
                         .positions = {d.max_positions, 0, "wpe"}});
  for (int i = 0; i < d.num_layers; ++i) {
    const std::string layer = "h." + std::to_string(i);
    h = m.residual(i, "attention", h, [&](Value x) {
      x = m.layer_norm(x, layer + ".ln_1");
      x = m.linear(x, layer + ".attn.c_attn", {.features = 3 * d.hidden_size});
      return m.linear(m.attention(x, heads), layer + ".attn.c_proj",
                      {.features = d.hidden_size, .initializer_range = closing});
    });
    h = m.residual(i, "mlp", h, [&](Value x) {
      x = m.linear(
          m.layer_norm(x, layer + ".ln_2"), layer + ".mlp.c_fc",
          {.features = d.intermediate_size, .activation = operations::Activation::gelu_tanh});
      return m.linear(x, layer + ".mlp.c_proj",
                      {.features = d.hidden_size, .initializer_range = closing});
    });
  }
  m.begin_head(all_rows(m, d.padded_vocab_size()));
  m.loss(m.layer_norm(h, "ln_f"), {.tied_to = "wte.weight", .classes = d.vocab_size},
         operations::CrossEntropy::Score::none);
  return compose(m.finish(), machine);
}

std::string gpt2_parameter_name(std::string_view saved_name) {
  constexpr std::string_view prefix = "transformer.";
  if (saved_name.starts_with(prefix)) saved_name.remove_prefix(prefix.size());
  if (saved_name == "lm_head.weight" || saved_name.ends_with(".attn.bias") ||
      saved_name.ends_with(".attn.masked_bias"))
    return {};
  return std::string(saved_name);
}

}  // namespace trainx::architectures
