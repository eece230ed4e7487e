// BERT (Devlin et al. 2018, arXiv:1810.04805).
#include "architectures/families/encoder_family.hpp"

namespace trainx::architectures {
namespace {

void bert(ConfigKeys& keys, BertDims& d) {
  bert_keys(keys, d);
  pad_token(keys, d, 0);
  positions(keys, d);
}

}  // namespace

std::vector<EncoderFamily> bert_families() {
  EncoderNames names;
  names.masked_lm = {.dense = "cls.predictions.transform.dense",
                     .norm = "cls.predictions.transform.LayerNorm",
                     .output = "cls.predictions"};
  names.classification = {
      .dense = "bert.pooler.dense", .output = "classifier", .activation = Activation::tanh};
  names.unused.insert(names.unused.end(), {"cls.predictions.decoder.", "cls.seq_relationship."});
  return {
      {.name = "bert",
       .summary =
           "Bidirectional encoder for masked_lm, classes of texts and of tokens (base, large)",
       .classes = "Bert",
       .names = names,
       .keys = bert,
       .sizes = {
           {"base", {}},
           {"large",
            {.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096}}}}};
}

}  // namespace trainx::architectures
