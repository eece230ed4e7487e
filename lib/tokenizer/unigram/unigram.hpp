#pragma once
#include "tokenizer/model.hpp"
#include "tokenizer/unigram/byte_trie.hpp"
#include <array>
#include <cstdint>

namespace trainx::tokenizer {

struct UnigramOptions {
  std::int32_t unk_id = no_id;  // no_id: a text with a character that no token covers is refused
  bool byte_fallback = false;   // the bytes of unknown characters as <0x00> to <0xFF>
};

/// A unigram language model (Kudo 2018, arXiv:1804.10959): of all ways to cut a piece into tokens
/// the one with the highest sum of scores (Viterbi).
class Unigram final : public Model {
 public:
  /// `scores` by id; `place` begins the sentence of a refusal (UserError 65).
  Unigram(VocabularyTable vocabulary, std::vector<double> scores, UnigramOptions options,
          std::string place);
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;
  const VocabularyTable& vocabulary() const override { return vocabulary_; }

 private:
  void append(std::string_view text, std::vector<std::int32_t>& ids) const;

  VocabularyTable vocabulary_;
  std::vector<double> scores_;
  UnigramOptions options_;
  std::string place_;
  ByteTrie trie_;
  double unk_score_;
  std::array<std::int32_t, 256> byte_ids_{};
};

}  // namespace trainx::tokenizer
