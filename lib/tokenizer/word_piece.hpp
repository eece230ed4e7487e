#pragma once
#include "tokenizer/model.hpp"
#include <cstdint>

namespace trainx::tokenizer {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::int64_t max_input_chars_per_word = 100;  // longer words are unknown
};

/// WordPiece (Schuster & Nakajima 2012): from the left always the longest token; a word that cannot
/// be cut to its end is unknown.
class WordPiece final : public Model {
 public:
  /// `place` begins the sentence of a refusal (UserError 65).
  WordPiece(VocabularyTable vocabulary, WordPieceOptions options, const std::string& place);
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;
  const VocabularyTable& vocabulary() const override { return vocabulary_; }

 private:
  VocabularyTable vocabulary_;
  WordPieceOptions options_;
  std::int32_t unk_;
  std::size_t longest_ = 0;  // bytes of a token: no longer one is looked for
};

}  // namespace trainx::tokenizer
