#include "architectures/bert.hpp"
#include "core/error.hpp"
#include "architectures/families/encoder_family.hpp"

namespace trainx::architectures {

using graph::Value;

program::ModelGraph graph_of(const BertDims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, Machine machine) {
  graph::ModelBuilder m(builder_options(d, micro_batch_size, length, compute, machine),
                        encoder_batch(d));
  EncoderNames names = encoder_family(d.family).names;
  const std::string& prefix = names.prefix;
  const std::string words = prefix + names.token + ".weight";
  Value h = m.embedding({.hidden_size = d.embedding_columns(),
                         .token = words,
                         .position = prefix + names.position + ".weight",
                         .type = names.type.empty() ? "" : prefix + names.type + ".weight",
                         .tokens = {d.vocab_size, d.padded_vocab_size(), "word",
                                    d.pad_token >= 0 ? d.pad_token : graph::none},
                         .positions = {d.max_positions + d.first_position},
                         .types = {d.type_vocab_size},
                         .norm = prefix + names.embedding_norm,
                         .first_position = d.first_position});
  if (d.embedding_columns() != d.hidden_size)
    h = m.stage("projection", h, [&](Value x) {
      return m.linear(x, prefix + names.projection, {.features = d.hidden_size});
    });
  const graph::AttentionOptions heads = attention_options(d, operations::AttentionMask::lengths);
  for (int i = 0; i < d.num_layers; ++i) {
    const std::string layer = prefix + names.layers + "." + std::to_string(i) + ".";
    const auto attend = [&](Value x) {
      x = m.linear(x, layer, {.features = 3 * d.hidden_size, .parts = names.qkv});
      return m.linear(m.attention(x, heads), layer + names.out, {.features = d.hidden_size});
    };
    const auto mlp = [&](Value x) {
      x = m.linear(x, layer + names.up,
                   {.features = d.intermediate_size, .activation = Activation::gelu_erf});
      return m.linear(x, layer + names.down, {.features = d.hidden_size});
    };
    h = m.residual_then_norm(i, "attention", h, attend, layer + names.norm1);
    h = m.residual_then_norm(i, "mlp", h, mlp, layer + names.norm2);
  }
  names.masked_lm.tied_to = words;
  add_head(m, d, h,
           d.task == Task::masked_lm        ? names.masked_lm
           : d.task == Task::classification ? names.classification
                                            : names.token_classification);
  return compose(m.finish(), machine);
}

}  // namespace trainx::architectures
