#pragma once
#include "tokenizer/component.hpp"
#include "tokenizer/pattern/pattern.hpp"
#include <memory>

namespace trainx::tokenizer {

using Tokens = std::vector<std::string>;

/// From tokens to text, in steps. Thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// The tokens of a text, changed for the next step; what is left at the end makes up the text.
  virtual void apply(Tokens& tokens, MatchSpace& space) const = 0;
};

/// BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece.
std::unique_ptr<Decoder> make_decoder(const Component& component);

}  // namespace trainx::tokenizer
