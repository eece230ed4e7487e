// config.json of a Hugging Face BERT folder.
#pragma once
#include "architectures/bert.hpp"

namespace trainx::architectures {

/// Dimensions in the text of `path`, and the task of the head that its `architectures` name. Throws
/// UserError 65 naming the key: malformed JSON, missing or impossible dimensions, settings that
/// trainx does not compute (another activation, relative positions, a decoder, regression, ...).
/// `dropout` is hidden_dropout_prob.
BertDims bert_dims_from_config(const std::string& text, const std::string& path);
/// What the file asks of dropout beyond BertDims::dropout, a sentence each. `dropout`: what is
/// trained with; sentences about a choice of the user's are left out.
std::vector<std::string> bert_dropout_remarks(const std::string& text, const std::string& path,
                                              double dropout);
/// What transformers loads as BertForSequenceClassification or BertForMaskedLM; weights are saved
/// in `saved` (torch_dtype).
std::string bert_config_text(const BertDims& dims, DType saved);

/// The parameter that a tensor of a Hugging Face file is, whichever model of the family wrote it:
/// "bert." before it or not, norms with gamma and beta as the first folders had them. Empty for
/// what is no parameter of this task: position_ids, copies of tied tensors, heads of other tasks.
std::string bert_parameter_name(const BertDims& dims, std::string_view saved_name);

}  // namespace trainx::architectures
