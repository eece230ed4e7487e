#include "architectures/bert.hpp"
#include "architectures/encoder_heads.hpp"

namespace trainx::architectures {

using graph::Value;

const Sizes<BertDims>& sizes(const BertOptions&) {
  static const Sizes<BertDims> all{
      {"base", {.num_layers = 12, .num_heads = 12, .hidden_size = 768, .intermediate_size = 3072}},
      {"large",
       {.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096}}};
  return all;
}

program::ModelGraph graph_of(const BertDims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, Machine machine) {
  graph::ModelBuilder m(builder_options(d, micro_batch_size, length, compute, machine),
                        encoder_batch(d));
  const std::string embeddings = "bert.embeddings.", words = embeddings + "word_embeddings.weight";
  Value h = m.embedding({.hidden_size = d.hidden_size,
                         .token = words,
                         .position = embeddings + "position_embeddings.weight",
                         .type = embeddings + "token_type_embeddings.weight",
                         .tokens = {d.vocab_size, d.padded_vocab_size(), "word",
                                    d.pad_token >= 0 ? d.pad_token : graph::none},
                         .positions = {d.max_positions},
                         .types = {d.type_vocab_size},
                         .norm = embeddings + "LayerNorm"});
  const graph::AttentionOptions heads = attention_options(d, operations::AttentionMask::lengths);
  for (int i = 0; i < d.num_layers; ++i) {
    const std::string layer = "bert.encoder.layer." + std::to_string(i) + ".",
                      attention = layer + "attention.";
    const auto attend = [&](Value x) {
      x = m.linear(x, attention + "self.",
                   {.features = 3 * d.hidden_size, .parts = {"query", "key", "value"}});
      return m.linear(m.attention(x, heads), attention + "output.dense",
                      {.features = d.hidden_size});
    };
    const auto mlp = [&](Value x) {
      x = m.linear(x, layer + "intermediate.dense",
                   {.features = d.intermediate_size, .activation = Activation::gelu_erf});
      return m.linear(x, layer + "output.dense", {.features = d.hidden_size});
    };
    h = m.residual_then_norm(i, "attention", h, attend, attention + "output.LayerNorm");
    h = m.residual_then_norm(i, "mlp", h, mlp, layer + "output.LayerNorm");
  }
  add_head(m, d, h,
           {.dense = "cls.predictions.transform.dense",
            .norm = "cls.predictions.transform.LayerNorm",
            .output = "cls.predictions",
            .tied_to = words},
           {.dense = "bert.pooler.dense", .output = "classifier", .activation = Activation::tanh});
  return compose(m.finish(), machine);
}

}  // namespace trainx::architectures
