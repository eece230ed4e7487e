#pragma once
#include "tokenizer/unicode/tables.hpp"
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainx::tokenizer {

/// Code points as ranges: small and quick to make, where CodePointSet is quick to look up in.
class CodePointRanges {
 public:
  CodePointRanges() = default;
  explicit CodePointRanges(CodePointClass which);
  void add(std::uint32_t first, std::uint32_t last) { ranges_.push_back({first, last}); }
  CodePointRanges& operator|=(const CodePointRanges& other);
  void invert();
  /// Sorted; neither overlapping nor adjacent.
  std::span<const CodePointRange> ranges();

 private:
  std::vector<CodePointRange> ranges_;
};

/// Code points of a category ("Lu") or of a group of them ("L"); null where there is no such name.
const CodePointRanges* ranges_of_category(std::string_view name);

}  // namespace trainx::tokenizer
