#pragma once
#include "tokenizer/unicode/code_point_ranges.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include <algorithm>
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

  /// Tells apart what these sets tell apart. False where more than 256 codes would be needed.
  bool split_by(std::vector<CodePointRanges>& sets);
  /// The codes of one of these sets.
  Codes codes_of(CodePointRanges& set) const;
  /// `text` as codes; after split_by.
  void encode(std::string_view text, std::string& codes) const;

 private:
  /// Code points from `first` to the next run's.
  struct Run {
    std::uint32_t first;
    std::uint8_t code;
  };
  static constexpr std::size_t page_size = 256;

  bool split_by(CodePointRanges& set);
  /// Calls `use(first, end, code, inside)` for pieces that have one code and lie inside the set or
  /// outside, in order.
  template <class Use>
  void for_each_piece(CodePointRanges& set, Use&& use) const {
    const auto ranges = set.ranges();
    auto range = ranges.begin();
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::uint32_t end = i + 1 < runs_.size() ? runs_[i + 1].first : code_points;
      for (std::uint32_t at = runs_[i].first, next = 0; at < end; at = next) {
        while (range != ranges.end() && range->last < at) ++range;
        const bool inside = range != ranges.end() && range->first <= at;
        next = std::min(end, inside                  ? range->last + 1
                             : range != ranges.end() ? range->first
                                                     : code_points);
        use(at, next, runs_[i].code, inside);
      }
    }
  }
  void make_pages();
  std::uint8_t code_of(std::uint32_t c) const {
    return pages_[std::size_t{page_of_[c / page_size]} * page_size + c % page_size];
  }

  std::vector<Run> runs_{{0, 0}};
  int count_ = 1;
  std::vector<std::uint16_t> page_of_;  // of 256 code points each; those of one code share a page
  std::vector<std::uint8_t> pages_;
};

}  // namespace trainx::tokenizer
