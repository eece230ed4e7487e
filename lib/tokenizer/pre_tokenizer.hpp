#pragma once
#include "tokenizer/component.hpp"
#include "tokenizer/pattern/pattern.hpp"
#include "tokenizer/pieces.hpp"
#include <memory>

namespace trainx::tokenizer {

/// Cuts a text into pieces, each of which becomes tokens by itself. Thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Appends the parts of `piece`, none of them empty.
  virtual void split(const Piece& piece, Pieces& out, Made& made, MatchSpace& space) const = 0;
  /// Whether pieces are meant as the bytes that they are made of (ByteLevel), which nothing may
  /// follow.
  virtual bool as_bytes() const { return false; }
};

/// BertPreTokenizer, ByteLevel, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace,
/// WhitespaceSplit.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Component& component);

}  // namespace trainx::tokenizer
