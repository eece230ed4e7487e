#pragma once
#include "tokenizer/component.hpp"
#include "tokenizer/pieces.hpp"
#include <cstdint>

namespace trainx::tokenizer {

/// What becomes of the delimiters that a pattern finds.
enum class SplitBehavior : std::uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous
};

/// `key` of a component.
SplitBehavior split_behavior_of(const Component& component, const char* key,
                                SplitBehavior otherwise);

/// A part of a text, and whether it is a delimiter.
struct Span {
  std::size_t begin = 0, end = 0;
  bool delimiter = false;
};

/// Appends the pieces that neighbouring spans make up; `spans` is changed on the way.
void split_spans(const Piece& piece, std::vector<Span>& spans, SplitBehavior behavior, Pieces& out);

}  // namespace trainx::tokenizer
