// Documents of any length, a piece at a time.
#pragma once
#include "tokenizer/tokenizer.hpp"
#include <string_view>

namespace trainx::corpus {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// Where a document is cut: a piece ends, the next one begins (one blank further, where the
/// tokenizer puts one in front of every text).
struct Cut {
  std::size_t end = 0, begin = 0;
};

/// The first place at or behind `target` where cutting changes none of the tokens around it, or the
/// document's end. Throws UserError 65, beginning with `place`, where there is none near.
Cut find_cut(std::string_view document, std::size_t target, tokenizer::Encoder& encoder,
             const std::string& place);

/// Appends the tokens of a document, which are those of the whole, with memory for one piece.
void append_document(std::string_view document, tokenizer::Encoder& encoder, tokenizer::Ids& ids,
                     const std::string& place);

}  // namespace trainx::corpus
