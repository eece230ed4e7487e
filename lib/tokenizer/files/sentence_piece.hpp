#pragma once
#include "tokenizer/tokenizer.hpp"

namespace trainx::tokenizer {

/// A SentencePiece model (Kudo & Richardson 2018, arXiv:1808.06226) by Google's library: BPE,
/// unigram, word or char. Special tokens are those that the file says are control tokens; a sample
/// has none around it. Throws UserError 65.
std::unique_ptr<Tokenizer> open_sentence_piece(const std::string& path);

}  // namespace trainx::tokenizer
