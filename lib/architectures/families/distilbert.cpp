// DistilBERT (Sanh et al. 2019, arXiv:1910.01108): BERT without segments and pooler.
#include "architectures/families/encoder_family.hpp"

namespace trainx::architectures {
namespace {

void distilbert(ConfigKeys& keys, BertDims& d) {
  keys.fixed("activation", {"gelu"});
  keys.fixed("tie_word_embeddings", {true});
  keys.require("pruned_heads", {nlohmann::json::object()});
  keys.dimension("n_layers", d.num_layers, 6);
  keys.dimension("n_heads", d.num_heads, 12);
  keys.dimension("dim", d.hidden_size, 768);
  keys.dimension("hidden_dim", d.intermediate_size, 3072);
  keys.dimension("vocab_size", d.vocab_size, 30522);
  keys.dropout("dropout", d.dropout);
  keys.heads_divide("dim", d.hidden_size, "n_heads", d.num_heads);
  keys.dropout("attention_dropout", d.attention_dropout);
  keys.write("initializer_range", d.initializer_range);
  // what a table of sines begins as does not matter to weights that are read
  keys.fixed("sinusoidal_pos_embds", {false});
  keys.ignore({"qa_dropout"});  // of questions and answers
  pad_token(keys, d, 0);
  positions(keys, d);
}

}  // namespace

std::vector<EncoderFamily> distilbert_families() {
  EncoderNames names{.prefix = "distilbert.", .type = "", .layers = "transformer.layer"};
  names.qkv = {"attention.q_lin", "attention.k_lin", "attention.v_lin"};
  names.out = "attention.out_lin";
  names.norm1 = "sa_layer_norm";
  names.up = "ffn.lin1";
  names.down = "ffn.lin2";
  names.norm2 = "output_layer_norm";
  names.masked_lm = {
      .dense = "vocab_transform", .norm = "vocab_layer_norm", .output = "vocab_projector"};
  names.classification = {
      .dense = "pre_classifier", .output = "classifier", .activation = Activation::relu};
  BertDims base{.num_layers = 6, .type_vocab_size = 0};
  base.family = "distilbert";
  return {{.name = "distilbert",
           .summary = "DistilBERT: BERT of half the layers, without segments (base)",
           .classes = "DistilBert",
           .names = names,
           .keys = distilbert,
           .dropouts = {"dropout", "attention_dropout", "seq_classif_dropout"},
           .sizes = {{"base", base}}}};
}

}  // namespace trainx::architectures
