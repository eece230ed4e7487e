#pragma once
#include "tokenizer/unicode/code_point_set.hpp"
#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::tokenizer {

/// What a pattern cannot tell apart gets one code: a byte for each code point, by the sets that the
/// pattern is made of. A text in codes has a byte for each code point, which PCRE2 matches without
/// knowing Unicode: its tables, which are not the reference's, play no part, and a set is a bitmap
/// of 256 bits.
class CodePointCodes {
 public:
  using Codes = std::bitset<256>;

  CodePointCodes() : code_of_(code_points, 0) {}
  /// Refines the codes by a set. False where more than 256 would be needed.
  bool split_by(const CodePointSet& set);
  /// The codes of a set that they were split by.
  Codes codes_of(const CodePointSet& set) const;
  /// `text` as codes.
  void encode(std::string_view text, std::string& codes) const;

 private:
  std::vector<std::uint8_t> code_of_;
  int count_ = 1;
};

}  // namespace trainx::tokenizer
