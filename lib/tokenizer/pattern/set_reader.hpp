#pragma once
#include "tokenizer/unicode/code_point_ranges.hpp"
#include <cstdint>
#include <optional>
#include <string>

namespace trainx::tokenizer {

/// Reads a pattern code point by code point, and the sets that it names: characters, escapes,
/// brackets. Oniguruma's syntax as far as tokenizers use it; the rest is refused by name (UserError
/// 65), since PCRE2 might take it for something else.
class SetReader {
 public:
  using Set = CodePointRanges;
  static constexpr std::uint32_t end_of_pattern = 0xffffffff;

  SetReader(const std::string& pattern, const std::string& place) : text_(pattern), place_(place) {}

  [[noreturn]] void refuse(const std::string& what) const;
  std::uint32_t peek() const;
  std::uint32_t take();
  bool take_if(std::string_view what);
  /// What is in front of the next `end`, and beyond it.
  std::optional<std::string> take_until(char end);

  /// One code point, in both cases where these are not told apart.
  Set character(std::uint32_t c) const;
  static Set any_but_newline();
  /// Behind a backslash.
  Set escape();
  /// Behind an opening bracket.
  Set bracket();

  bool caseless = false;

 private:
  void add(std::uint32_t first, std::uint32_t last, Set& set) const;
  std::optional<std::uint32_t> escaped_code_point(std::uint32_t c);
  Set escaped_set(std::uint32_t c, bool in_brackets);
  Set property();
  std::uint32_t hexadecimal(std::size_t longest);

  const std::string& text_;
  const std::string& place_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace trainx::tokenizer
