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
  CodePointSet& operator|=(const CodePointSet& other) {
    bits_ |= other.bits_;
    return *this;
  }
  void invert() { bits_.flip(); }
  std::size_t size() const { return bits_.count(); }

 private:
  std::bitset<code_points> bits_;  // 136 KiB: keep it off the stack
};

/// The table of a class, made when it is first asked for.
const CodePointSet& set_of(CodePointClass which);
/// Code points of a category ("Lu") or of a group of them ("L"); null where there is no such name.
const CodePointSet* set_of_category(std::string_view name);

}  // namespace trainx::tokenizer
