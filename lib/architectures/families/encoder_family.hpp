// A family of encoders: what its tensors are called, and how its config.json reads. All there are:
// encoder_list.cpp.
#pragma once
#include "architectures/bert.hpp"
#include "architectures/config_reader.hpp"
#include "architectures/encoder_heads.hpp"
#include <string>
#include <string_view>
#include <vector>

namespace trainx::architectures {

/// Names of tensors without ".weight" and ".bias". Those of the encoder stand below `prefix`, those
/// of a layer below "<prefix><layers>.<i>.". Several names: parts of one product.
struct EncoderNames {
  std::string prefix = "bert.";
  std::string token = "embeddings.word_embeddings", position = "embeddings.position_embeddings",
              type = "embeddings.token_type_embeddings", embedding_norm = "embeddings.LayerNorm",
              projection = "embeddings_project";
  std::string layers = "encoder.layer";
  std::vector<std::string> qkv{"attention.self.query", "attention.self.key",
                               "attention.self.value"};
  std::string out = "attention.output.dense", norm1 = "attention.output.LayerNorm";
  std::string up = "intermediate.dense", down = "output.dense", norm2 = "output.LayerNorm",
              final_norm = "";
  HeadNames masked_lm, classification, token_classification{.output = "classifier"};
  /// What names of tensors begin with that are no parameter, whatever is learned.
  std::vector<std::string> unused{"qa_outputs."};
};

struct EncoderFamily {
  std::string_view name, summary;
  std::string_view classes;  // what names in `architectures` begin with: "Bert" of BertForMaskedLM
  EncoderNames names;
  void (*keys)(ConfigKeys&, BertDims&);
  struct Dropouts {
    const char *hidden = "hidden_dropout_prob", *attention = "attention_probs_dropout_prob",
               *classifier = "classifier_dropout";
  } dropouts = {};
  /// Published sizes. The first is the default.
  std::vector<std::pair<std::string_view, BertDims>> sizes;
};
const std::vector<EncoderFamily>& encoder_families();
/// InternalError if there is none.
const EncoderFamily& encoder_family(std::string_view name);

// Keys that families have in common.
/// Those of BERT; where its positions begin is the family's.
void bert_keys(ConfigKeys& keys, BertDims& d);
/// -1 is null in the file; an absent key is `otherwise`.
void pad_token(ConfigKeys& keys, BertDims& d, std::int64_t otherwise);
/// The table has `first_position` rows that samples do not use.
void positions(ConfigKeys& keys, BertDims& d);
/// layer_types, and rope_parameters of sliding_attention and full_attention.
void layers_of_both_kinds(ConfigKeys& keys, BertDims& d);

// One list a file of families.
std::vector<EncoderFamily> bert_families();
std::vector<EncoderFamily> roberta_families();
std::vector<EncoderFamily> distilbert_families();
std::vector<EncoderFamily> electra_families();
std::vector<EncoderFamily> modernbert_families();

}  // namespace trainx::architectures
