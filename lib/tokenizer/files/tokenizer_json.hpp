#pragma once
#include "tokenizer/pipeline.hpp"

namespace trainx::tokenizer {

/// Hugging Face's tokenizer.json. Its truncation and padding are not followed: how long samples are
/// is the recipe's matter.
Pipeline read_tokenizer_json(const std::string& text, const std::string& path);

}  // namespace trainx::tokenizer
