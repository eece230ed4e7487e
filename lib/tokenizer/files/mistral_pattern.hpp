#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::tokenizer {

/// Gives a tokenizer.json the pattern that Mistral's large vocabularies should have had, where
/// transformers does so for fix_mistral_regex: true. `folder`: whose config.json decides.
void fix_mistral_pattern(const std::string& folder, nlohmann::json& document);

}  // namespace trainx::tokenizer
