#pragma once
#include "tokenizer/train/word_counts.hpp"
#include <cstdint>

namespace trainx::tokenizer {

struct LearnOptions {
  std::int64_t vocab_size = 0;
  std::vector<std::string> special;  // the first ids
  // characters that the vocabulary has, whatever the words are
  std::vector<std::string> alphabet;
  std::string continuing_subword_prefix;  // of characters inside a word, and of what they merge to
  std::int64_t most_characters = 0;       // kept of the words' own, the commonest; 0: all
};

struct Learned {
  std::vector<std::string> tokens;  // by id
  std::vector<std::pair<std::string, std::string>> merges;
};

/// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909, Alg. 1) over counted words: again
/// and again the commonest pair of neighbours becomes a token, of equally common ones that with the
/// lower ids. Fewer than vocab_size tokens come out where no pair is left. Words are in characters
/// (UTF-8).
Learned learn_merges(const WordCounts& words, const LearnOptions& options);

}  // namespace trainx::tokenizer
