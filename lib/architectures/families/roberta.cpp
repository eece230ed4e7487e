// RoBERTa (Liu et al. 2019, arXiv:1907.11692) and XLM-RoBERTa (Conneau et al. 2019,
// arXiv:1911.02116): BERT with other heads, whose positions begin behind that of padding.
#include "architectures/families/encoder_family.hpp"

namespace trainx::architectures {
namespace {

void roberta(ConfigKeys& keys, BertDims& d) {
  bert_keys(keys, d);
  pad_token(keys, d, 1);
  if (keys.file()) d.first_position = d.pad_token + 1;
  positions(keys, d);
}

EncoderFamily family(std::string_view name, std::string_view summary, std::string_view classes,
                     std::int64_t vocab_size) {
  EncoderNames names{.prefix = "roberta."};
  names.masked_lm = {.dense = "lm_head.dense", .norm = "lm_head.layer_norm", .output = "lm_head"};
  names.classification = {.dense = "classifier.dense",
                          .output = "classifier.out_proj",
                          .activation = Activation::tanh,
                          .drops_input = true};
  names.unused.insert(names.unused.end(), {"roberta.pooler.", "lm_head.decoder."});
  BertDims base{.vocab_size = vocab_size, .type_vocab_size = 1, .layer_norm_epsilon = 1e-5};
  base.pad_token = 1;
  base.family = name;
  base.first_position = 2;
  BertDims large = base;
  large.num_layers = 24;
  large.num_heads = 16;
  large.hidden_size = 1024;
  large.intermediate_size = 4096;
  return {.name = name,
          .summary = summary,
          .classes = classes,
          .names = names,
          .keys = roberta,
          .sizes = {{"base", base}, {"large", large}}};
}

}  // namespace

std::vector<EncoderFamily> roberta_families() {
  return {family("roberta", "RoBERTa: BERT with other positions and heads (base, large)", "Roberta",
                 50265),
          family("xlm-roberta", "XLM-RoBERTa: RoBERTa for a hundred languages (base, large)",
                 "XLMRoberta", 250002)};
}

}  // namespace trainx::architectures
