#pragma once
#include "data/files/about_file.hpp"
#include "tokenizer/tokenizer.hpp"

namespace trainx::corpus {

/// What a FILE.json says of the tokenizer that made the file.
data::AboutFile about_tokenizer(const tokenizer::Tokenizer& tokenizer);

}  // namespace trainx::corpus
