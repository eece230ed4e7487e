// Samples of token classification.
#pragma once
#include "corpus/masked_sample.hpp"
#include "corpus/record.hpp"
#include <string>

namespace trainx::corpus {

/// The tokens of each word as it stands in a text, with those that the tokenizer puts around a text
/// if `special`. The first token of a word has its tag, all others -100.
MaskedSample word_sample(const TaggedWords& words, const tokenizer::Tokenizer& tokenizer,
                         bool special, tokenizer::Encoder& encoder, const std::string& place);

}  // namespace trainx::corpus
