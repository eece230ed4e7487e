#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::worker {

/// The tokens that end a text as a model's folder says: eos_token_id (one or several) of generation_config.json, else of config.json. Ids beyond `vocab_size`
/// are left out: transformers writes GPT-2's 50256 for models of any size.
std::vector<std::int32_t> end_of_text_of(const std::string& folder, std::int64_t vocab_size);

}  // namespace trainx::worker
