#include "architectures/bert.hpp"
#include "architectures/encoder_heads.hpp"
#include "core/error.hpp"

namespace trainx::architectures {

using graph::Value;

namespace {

/// What differs between families.
struct Names {
  std::string prefix;
  HeadNames masked_lm, classification;
};
Names names_of(const BertDims& d) {
  if (d.family == "bert")
    return {"bert.",
            {.dense = "cls.predictions.transform.dense",
             .norm = "cls.predictions.transform.LayerNorm",
             .output = "cls.predictions"},
            {.dense = "bert.pooler.dense", .output = "classifier", .activation = Activation::tanh}};
  return {"roberta.",
          {.dense = "lm_head.dense", .norm = "lm_head.layer_norm", .output = "lm_head"},
          {.dense = "classifier.dense",
           .output = "classifier.out_proj",
           .activation = Activation::tanh,
           .drops_input = true}};
}

BertDims roberta(const char* family, std::int64_t vocab_size, BertDims size) {
  size.family = family;
  size.vocab_size = vocab_size;
  size.type_vocab_size = 1;
  size.layer_norm_epsilon = 1e-5;
  size.pad_token = 1;
  size.first_position = 2;
  size.mask_token = vocab_size - 1;
  size.special_tokens = {0, 1, 2, 3, vocab_size - 1};
  return size;
}

}  // namespace

const std::vector<BertOptions>& BertOptions::described() {
  static const std::vector<BertOptions> all = [] {
    std::vector<BertOptions> out(3);
    out[0].summary = "Bidirectional encoder for masked_lm, classes of texts and of tokens (base, large)";
    const std::pair<const char*, const char*> others[] = {
        {"roberta",
         "RoBERTa: BERT with other positions and another head (base, large)"},
        {"xlm-roberta", "XLM-RoBERTa: RoBERTa for a hundred languages (base, large)"}};
    for (std::size_t i = 0; i < 2; ++i) {
      BertOptions& o = out[i + 1];
      o.name = others[i].first;
      o.summary = others[i].second;
      const BertDims d = sizes(o).front().second;
      o.mask_token = d.mask_token;
      o.special_tokens = d.special_tokens;
    }
    return out;
  }();
  return all;
}

const Sizes<BertDims>& sizes(const BertOptions& o) {
  const BertDims base{
      .num_layers = 12, .num_heads = 12, .hidden_size = 768, .intermediate_size = 3072},
      large{.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096};
  static const Sizes<BertDims> bert{{"base", base}, {"large", large}},
      one{{"base", roberta("roberta", 50265, base)}, {"large", roberta("roberta", 50265, large)}},
      many{{"base", roberta("xlm-roberta", 250002, base)},
           {"large", roberta("xlm-roberta", 250002, large)}};
  return o.name == "roberta" ? one : o.name == "xlm-roberta" ? many : bert;
}

program::ModelGraph graph_of(const BertDims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, Machine machine) {
  graph::ModelBuilder m(builder_options(d, micro_batch_size, length, compute, machine),
                        encoder_batch(d));
  Names names = names_of(d);
  const std::string embeddings = names.prefix + "embeddings.",
                    words = embeddings + "word_embeddings.weight";
  Value h = m.embedding({.hidden_size = d.hidden_size,
                         .token = words,
                         .position = embeddings + "position_embeddings.weight",
                         .type = embeddings + "token_type_embeddings.weight",
                         .tokens = {d.vocab_size, d.padded_vocab_size(), "word",
                                    d.pad_token >= 0 ? d.pad_token : graph::none},
                         .positions = {d.max_positions + d.first_position},
                         .types = {d.type_vocab_size},
                         .norm = embeddings + "LayerNorm",
                         .first_position = d.first_position});
  const graph::AttentionOptions heads = attention_options(d, operations::AttentionMask::lengths);
  for (int i = 0; i < d.num_layers; ++i) {
    const std::string layer = names.prefix + "encoder.layer." + std::to_string(i) + ".",
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
  names.masked_lm.tied_to = words;
  add_head(m, d, h, names.masked_lm, names.classification, "classifier");
  return compose(m.finish(), machine);
}

}  // namespace trainx::architectures
