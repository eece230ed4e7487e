#include "architectures/gpt2.hpp"
#include "architectures/compose.hpp"
#include <cmath>

namespace trainx::architectures {

using graph::Value;
using operations::Activation, operations::AttentionMask;

const Sizes<Gpt2Dims>& sizes(const Gpt2Options&) {
  static const Sizes<Gpt2Dims> all{
      {"124m", {.num_layers = 12, .num_heads = 12, .hidden_size = 768, .intermediate_size = 3072}},
      {"350m", {.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096}},
      {"774m", {.num_layers = 36, .num_heads = 20, .hidden_size = 1280, .intermediate_size = 5120}},
      {"1558m",
       {.num_layers = 48, .num_heads = 25, .hidden_size = 1600, .intermediate_size = 6400}}};
  return all;
}

namespace {

/// Weights are the softmax's probabilities of what is chosen, as they are: with one expert of a
/// token their gradient trains the router.
graph::MixtureOptions experts_of_layer(const Gpt2Dims& d, const std::string& name,
                                       const graph::LinearOptions& residual) {
  return {.router = {.experts = d.num_experts, .per_token = d.num_experts_per_tok},
          .features = d.intermediate_size,
          .activation = Activation::gelu_tanh,
          .gated = false,
          .capacity_factor = d.capacity_factor,
          .router_name = name + ".router",
          .up = {name + ".experts.c_fc"},
          .down = name + ".experts.c_proj",
          .stacked = true,
          .biased = true,
          .down_range = residual.initializer_range,
          .loss = d.router_aux_loss_coef,
          .loss_by_layer = true,
          .z_loss = d.router_z_loss};
}

}  // namespace

graph::Model model_of(const Gpt2Dims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options) {
  graph::BuilderOptions options =
      builder_options(d, micro_batch_size, length, compute, graph_options);
  options.transposed_linears = true;
  options.any_norms = d.num_experts > 0;  // what experts make ends in no linear layer's bias
  std::vector<std::string> batch{"tokens", "targets", "positions"};
  if (d.packed) batch.push_back("document_starts");
  graph::ModelBuilder m(options, batch);
  const graph::AttentionOptions heads =
      attention_options(d, d.packed ? AttentionMask::documents : AttentionMask::causal);
  const graph::LinearOptions residual{
      .features = d.hidden_size,
      .initializer_range = d.initializer_range /
                           std::sqrt(2.0 * static_cast<double>(d.num_layers))};
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
      return m.linear(m.attention(x, heads), layer + ".attn.c_proj", residual);
    });
    h = m.residual(i, "mlp", h, [&](Value x) {
      x = m.layer_norm(x, layer + ".ln_2");
      if (d.has_experts(i)) return m.mixture(x, experts_of_layer(d, layer + ".mlp", residual));
      x = m.linear(x, layer + ".mlp.c_fc",
                   {.features = d.intermediate_size, .activation = Activation::gelu_tanh});
      return m.linear(x, layer + ".mlp.c_proj", residual);
    });
  }
  m.begin_head(all_rows(m, d.tied ? d.padded_vocab_size() : d.vocab_size));
  m.loss(m.layer_norm(h, "ln_f"),
         {.tied_to = d.tied ? "wte.weight" : "", .name = "lm_head", .classes = d.vocab_size},
         operations::CrossEntropy::Score::none);
  return m.finish();
}

program::ModelGraph graph_of(const Gpt2Dims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, GraphOptions graph_options) {
  return compose(model_of(d, micro_batch_size, length, compute, graph_options), graph_options);
}

}  // namespace trainx::architectures
