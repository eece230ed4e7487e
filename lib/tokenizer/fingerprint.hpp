#pragma once
#include "tokenizer/tokenizer.hpp"

namespace trainx::tokenizer {

/// A hash of all tokens and their ids, added ones too.
std::string fingerprint(const Tokenizer& tokenizer);
/// The first id that both have for different tokens; nothing where they agree, also if one has
/// further tokens behind those of the other.
std::optional<std::int64_t> first_difference(const Tokenizer& a, const Tokenizer& b);

}  // namespace trainx::tokenizer
