#pragma once
#include "tokenizer/files/class_definition.hpp"
#include "tokenizer/tokenizer.hpp"

namespace trainx::tokenizer {

/// A vocabulary, out of whatever files.
struct VocabularySource {
  /// A tokenizer.json: all of it for TokenizersBackend, else the model's type, vocab and merges.
  nlohmann::json document;
  std::string charsmap;            // the normalizer's table in base64; empty: none
  nlohmann::json post_processor;   // of a tokenizer.json; null: none
  bool is_json = false;            // out of a tokenizer.json
  std::string padding;             // the token that a tokenizer.json pads with; empty: none
  std::vector<TokenSpec> symbols;  // SentencePiece's control and user-defined ones
  bool is_sentence_piece = false;
};

struct ClassDocument {
  nlohmann::json document;  // as a tokenizer.json that tokenizes in the same way
  NamedTokens tokens;
  bool splits_special = false;                    // special tokens inside a text are text
  std::vector<std::string> once_normalized = {};  // added tokens that are decoded normalized
};

/// A tokenizer as a class of transformers builds it. `definition`: null for TokenizersBackend.
/// Throws UserError 65.
ClassDocument build_class_document(const ClassDefinition* definition, VocabularySource source,
                                   TokenSettings settings);

}  // namespace trainx::tokenizer
