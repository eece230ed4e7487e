// ELECTRA (Clark et al. 2020, arXiv:2003.10555): BERT whose embeddings may be narrower. Generators
// learn masked_lm; discriminators are what texts and tokens are classified with.
#include "architectures/families/encoder_family.hpp"

namespace trainx::architectures {
namespace {

void electra(ConfigKeys& keys, BertDims& d) {
  bert_keys(keys, d);
  keys.dimension("embedding_size", d.embedding_size, 128);
  // of multiple choice
  keys.ignore({"summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"});
  pad_token(keys, d, 0);
  positions(keys, d);
  if (!keys.file()) return;
  const auto* classes = keys.file()->find("architectures");
  d.discriminates = classes && *classes == nlohmann::json::array({"ElectraForPreTraining"});
}

}  // namespace

std::vector<EncoderFamily> electra_families() {
  EncoderNames names{.prefix = "electra."};
  names.masked_lm = {.dense = "generator_predictions.dense",
                     .norm = "generator_predictions.LayerNorm",
                     .output = "generator_lm_head"};
  names.classification = {.dense = "classifier.dense",
                          .output = "classifier.out_proj",
                          .activation = Activation::gelu_erf,
                          .drops_input = true};
  names.unused.insert(names.unused.end(), {"discriminator_predictions.", "sequence_summary."});
  BertDims small{.num_heads = 4, .hidden_size = 256, .intermediate_size = 1024};
  small.family = "electra";
  small.embedding_size = 128;
  BertDims base;
  base.family = "electra";
  base.embedding_size = 768;
  BertDims large{.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096};
  large.family = "electra";
  large.embedding_size = 1024;
  return {{.name = "electra",
           .summary = "ELECTRA: BERT with narrower embeddings (small, base, large)",
           .classes = "Electra",
           .names = names,
           .keys = electra,
           .sizes = {{"small", small}, {"base", base}, {"large", large}}}};
}

}  // namespace trainx::architectures
