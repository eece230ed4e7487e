// config.json of a Hugging Face BERT folder.
#pragma once
#include "spec/arch/bert.hpp"

namespace trainx::spec {

/// Dimensions in the text of `path`, and the task of the head that its `architectures` name. Throws UserError 65 naming the key: malformed JSON, missing or
/// impossible dimensions, settings that trainx does not compute (another activation, relative positions, a decoder, regression, ...). Dropout is a
/// setting of a training run, not of its weights: the file's probabilities are not read, `dropout` is 0.
BertDims bert_dims_from_config(const std::string& text, const std::string& path);
/// What transformers loads as BertForSequenceClassification or BertForMaskedLM; weights are saved in `saved` (torch_dtype).
std::string bert_config_text(const BertDims& dims, DType saved);

}  // namespace trainx::spec
