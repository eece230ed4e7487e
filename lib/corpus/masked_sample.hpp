// Samples of which a part is learned: the rest has the label -100.
#pragma once
#include "corpus/chat/text_span.hpp"
#include "tokenizer/tokenizer.hpp"
#include <string>

namespace trainx::corpus {

struct MaskedSample {
  tokenizer::Ids ids, labels;
};

/// The tokens of a text; a token is learned where a byte of it is.
MaskedSample masked_tokens(const MaskedText& text, const tokenizer::Tokenizer& tokenizer,
                           tokenizer::Encoder& encoder, const std::string& place);

/// A prompt and what is to follow it, with the tokens that the tokenizer puts around a text and
/// `end_of_text` behind it (-1: none), if it does not end so. What is learned begins with the
/// completion.
MaskedSample completion_sample(const std::string& prompt, const std::string& completion,
                               const tokenizer::Tokenizer& tokenizer, bool special,
                               std::int32_t end_of_text, tokenizer::Encoder& encoder,
                               const std::string& place);

}  // namespace trainx::corpus
