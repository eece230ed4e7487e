#pragma once
#include "tokenizer/pipeline.hpp"
#include <nlohmann/json_fwd.hpp>

namespace trainx::tokenizer {

/// Hugging Face's tokenizer.json. Its truncation and padding are not followed: how long samples are
/// is the recipe's matter.
Pipeline read_tokenizer_json(const std::string& text, const std::string& path);
/// `path` begins the place of each refusal.
Pipeline make_pipeline(const nlohmann::json& json, const std::string& path);

}  // namespace trainx::tokenizer
