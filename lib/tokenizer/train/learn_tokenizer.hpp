#pragma once
#include "tokenizer/train/word_counts.hpp"
#include <cstdint>

namespace trainx::tokenizer {

/// Kinds of tokenizers that trainx makes from text: GPT-2's (byte-level BPE, <|endoftext|>) and
/// BERT's (WordPiece, lower case, [PAD] [UNK] [CLS] [SEP] [MASK]).
enum class LearnedKind : std::uint8_t { bpe, wordpiece };

/// Counts what a vocabulary of that kind is learned from.
std::unique_ptr<PieceCounter> make_counter(LearnedKind kind);

/// Throws UserError 2 where the least that a vocabulary of that kind needs does not fit.
void check_learned_size(LearnedKind kind, std::int64_t vocab_size);

/// A tokenizer.json of at most `vocab_size` tokens. Throws UserError 65 where there are no words.
std::string learn_tokenizer(LearnedKind kind, const WordCounts& words, std::int64_t vocab_size);

}  // namespace trainx::tokenizer
