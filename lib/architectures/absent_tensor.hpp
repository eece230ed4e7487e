#pragma once
#include "architectures/architecture.hpp"
#include <string>

namespace trainx::architectures {

/// What a folder without the parameter's tensor means and how to mend it, as the end of a sentence.
/// "": the weights are of another model.
std::string meaning_of_absence(const ModelDims& dims, const std::string& parameter);

/// The tensor of the head whose absence says that the embedding is the head; "": there is none.
std::string head_of_own(const ModelDims& dims);
/// The model with its embedding as head, as its folder lacks head_of_own.
void tie_head(ModelDims& dims);

}  // namespace trainx::architectures
