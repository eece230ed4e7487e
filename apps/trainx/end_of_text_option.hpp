#pragma once
#include "tokenizer/tokenizer.hpp"
#include <cstdint>
#include <optional>

namespace trainx::app {

/// The token that --end-of-text names for `command` ("data pack"); nothing where it names none.
/// Throws UserError 2 without a tokenizer (null) that knows it, and for labelled lines, which are
/// documents by themselves.
std::optional<std::int32_t> named_end_of_text(const std::string& command, const std::string& path,
                                              const std::string& token,
                                              const tokenizer::Tokenizer* tokenizer);

}  // namespace trainx::app
