#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace trainx::corpus {

/// Bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};

/// A text, and what of it is learned.
struct MaskedText {
  std::string text;
  std::vector<TextSpan> learned;  // in order, apart from one another
};

}  // namespace trainx::corpus
