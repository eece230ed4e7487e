#pragma once
#include "tokenizer/pattern/code_point_codes.hpp"
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace trainx::tokenizer {

/// What a thread needs to match; of one pattern at a time. Made when something is first matched.
class MatchSpace {
 public:
  MatchSpace() = default;
  ~MatchSpace();
  MatchSpace(const MatchSpace&) = delete;
  MatchSpace& operator=(const MatchSpace&) = delete;

 private:
  friend class Pattern;
  void make();

  pcre2_real_match_data_8* data_ = nullptr;
  pcre2_real_jit_stack_8* stack_ = nullptr;
  pcre2_real_match_context_8* context_ = nullptr;
  std::string codes_;
};

/// A regular expression of a tokenizer, compiled once by PCRE2 with its JIT. Its classes are the
/// reference's.
class Pattern {
 public:
  /// `place` begins the sentence of a refusal (UserError 65): file and component.
  static Pattern expression(const std::string& text, const std::string& place);
  static Pattern literal(const std::string& text, const std::string& place);
  ~Pattern();
  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&&) = delete;

  /// Calls `use(begin, end)` with the bytes of each match, from left to right. Throws UserError 65
  /// where PCRE2 gives up.
  template <class Use>
  void for_each_match(std::string_view text, MatchSpace& space, Use&& use) const {
    codes_.encode(text, space.codes_);
    const bool ascii = space.codes_.size() == text.size();
    std::size_t code = 0, byte = 0;  // of which `code` code points have `byte` bytes
    const auto byte_of = [&](std::size_t wanted) {
      if (ascii) return wanted;
      for (; code < wanted; ++code) byte += utf8_length(static_cast<unsigned char>(text[byte]));
      return byte;
    };
    for (std::size_t from = 0, begin = 0, end = 0; find(space, from, begin, end); from = end) {
      const std::size_t first = byte_of(begin);
      use(first, byte_of(end));
    }
  }

 private:
  Pattern(struct PatternParts parts, const std::string& text, const std::string& place);
  bool find(MatchSpace& space, std::size_t from, std::size_t& begin, std::size_t& end) const;

  CodePointCodes codes_;
  pcre2_real_code_8* compiled_ = nullptr;
  std::string place_;
};

}  // namespace trainx::tokenizer
