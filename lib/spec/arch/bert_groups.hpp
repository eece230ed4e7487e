// The parameter groups of BERT, in the order of bert::Groups.
#pragma once
#include "spec/arch/bert.hpp"

namespace trainx::spec {

/// Parameters are called as BertForSequenceClassification or BertForMaskedLM save them.
std::vector<program::GroupSpec> bert_groups(const BertDims& dims);

/// The parameter that a tensor of a Hugging Face file is, whichever model of the family wrote it:
/// "bert." before it or not, norms with gamma and beta as the first folders had them. Empty for
/// what is no parameter of this task: position_ids, copies of tied tensors, heads of other tasks.
std::string bert_parameter_name(const BertDims& dims, std::string_view saved_name);

}  // namespace trainx::spec
