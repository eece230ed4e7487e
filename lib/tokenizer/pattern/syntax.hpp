#pragma once
#include "tokenizer/unicode/code_point_ranges.hpp"
#include <string>
#include <vector>

namespace trainx::tokenizer {

/// A pattern taken apart: what stands between its sets stays as it is, which PCRE2 understands as
/// Oniguruma does.
struct PatternParts {
  struct Part {
    std::string syntax;  // "(?:", "|", "+", "{1,3}", "(?!"
    int set = -1;        // else: one code point out of sets[set]
  };
  std::vector<Part> parts;
  std::vector<CodePointRanges> sets;
};

/// Throws UserError 65 where the pattern is malformed, or names what trainx does not know; `place`
/// begins the sentence.
PatternParts parse_pattern(const std::string& pattern, const std::string& place);

}  // namespace trainx::tokenizer
