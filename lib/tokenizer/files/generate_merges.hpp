#pragma once
#include <nlohmann/json.hpp>

namespace trainx::tokenizer {

/// Merges of a vocabulary that has none: each way to cut a token into two others, in the order of
/// the tokens' ids. `vocab`: {token: id}. Returns [[left, right], ...].
nlohmann::json generate_merges(const nlohmann::json& vocab);

}  // namespace trainx::tokenizer
