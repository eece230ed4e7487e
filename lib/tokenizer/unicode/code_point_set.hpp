#pragma once
#include "tokenizer/unicode/tables.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include <bitset>
#include <cstdint>

namespace trainx::tokenizer {

/// Code points, each a bit.
class CodePointSet {
 public:
  CodePointSet() = default;
  explicit CodePointSet(CodePointClass which) {
    for (const CodePointRange& r : ranges_of(which)) add(r.first, r.last);
  }
  void add(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t c = first; c <= last; ++c) bits_.set(c);
  }
  bool contains(std::uint32_t c) const { return bits_[c]; }

 private:
  std::bitset<code_points> bits_;  // 136 KiB: keep it off the stack
};

/// The table of a class, made when it is first asked for.
const CodePointSet& set_of(CodePointClass which);

}  // namespace trainx::tokenizer
