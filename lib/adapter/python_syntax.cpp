#include "adapter/python_syntax.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <string_view>

namespace trainx::adapter {
namespace {

bool is_one_of(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Reads an expression from left to right and writes what PCRE2 reads alike.
class Translation {
 public:
  Translation(const std::string& text, const std::string& place) : text_(text), place_(place) {}

  std::string translate() {
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '\\': escape(false); break;
        case '(': open_group(); break;
        case '[': set(); break;
        case '{': braces(); break;
        default: written_ += text_[at_++];
      }
    }
    return std::move(written_);
  }

 private:
  [[noreturn]] void refuse(std::size_t begin, std::size_t end) const {
    throw UserError(ExitCode::invalid_recipe,
                    place_ + ": '" + text_ + "' has '" + text_.substr(begin, end - begin) +
                        "', which trainx does not read in regular expressions of Python");
  }

  char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void escape(bool in_set) {
    const char c = peek(1);
    if (at_ + 1 >= text_.size()) refuse(at_, at_ + 1);
    if (is_digit(c)) {
      // A group; two digits are a character's number to one of the two, as any digit in a set is.
      if (in_set || c == '0' || is_digit(peek(2))) refuse(at_, at_ + 2);
    } else if (c == 'x') {
      if (!is_hex(peek(2)) || !is_hex(peek(3))) refuse(at_, at_ + 2);
    } else if (is_letter(c)) {
      if (!is_one_of(c, in_set ? "abdDfnrsStvwW" : "AabBdDfnrsStvwWZ")) refuse(at_, at_ + 2);
    }
    if (c == 'v') {  // a vertical tab; to PCRE2 any vertical space
      written_ += "\\x0b";
    } else if (c == 'Z') {  // the very end
      written_ += "\\z";
    } else {
      written_ += '\\';
      written_ += c;
    }
    at_ += 2;
  }

  static bool is_hex(char c) { return is_digit(c) || is_one_of(c, "abcdefABCDEF"); }

  void open_group() {
    if (peek(1) == '*') refuse(at_, at_ + 2);
    if (peek(1) != '?') {
      written_ += text_[at_++];
      return;
    }
    for (const std::string_view known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P<"})
      if (std::string_view(text_).substr(at_).starts_with(known)) {
        written_ += known;
        at_ += known.size();
        return;
      }
    for (const std::string_view known : {"(?P=", "(?#"})  // to the closing parenthesis
      if (std::string_view(text_).substr(at_).starts_with(known)) {
        const std::size_t end = text_.find(')', at_);
        if (end == std::string::npos) refuse(at_, at_ + known.size());
        written_ += text_.substr(at_, end + 1 - at_);
        at_ = end + 1;
        return;
      }
    // (?i) at the very beginning, (?i:...) and (?-i:...) anywhere.
    std::size_t end = at_ + 2;
    while (end < text_.size() && is_one_of(text_[end], "ims-")) ++end;
    const bool has_flags = end > at_ + 2 && end < text_.size();
    const bool is_global = has_flags && text_[end] == ')' && at_ == 0 && text_.find('-') >= end;
    if (!is_global && !(has_flags && text_[end] == ':'))
      refuse(at_, std::min(end + 1, text_.size()));
    written_ += text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
  }

  void set() {
    const std::size_t begin = at_;
    written_ += text_[at_++];
    if (peek(0) == '^') written_ += text_[at_++];
    for (bool is_first = true;; is_first = false) {
      if (at_ >= text_.size()) refuse(begin, begin + 1);
      const char c = text_[at_];
      if (c == '\\') {
        escape(true);
        continue;
      }
      ++at_;
      if (c == ']' && !is_first) break;
      if (c == '[' || c == ']') written_ += '\\';  // PCRE2 has names of classes: [[:alpha:]]
      written_ += c;
    }
    written_ += ']';
  }

  /// Bounds of a repetition, of which either may be left out; else a brace.
  void braces() {
    std::size_t end = at_ + 1;
    std::string first, second;
    while (end < text_.size() && is_digit(text_[end])) first += text_[end++];
    const bool has_comma = end < text_.size() && text_[end] == ',';
    if (has_comma) ++end;
    while (end < text_.size() && is_digit(text_[end])) second += text_[end++];
    const bool is_closed = end < text_.size() && text_[end] == '}';
    if (!is_closed || (first.empty() && !has_comma)) {
      written_ += "\\{";
      ++at_;
      return;
    }
    written_ += "{" + (first.empty() ? "0" : first) + (has_comma ? "," : "") + second + "}";
    at_ = end + 1;
  }

  const std::string& text_;
  const std::string& place_;
  std::size_t at_ = 0;
  std::string written_;
};

}  // namespace

std::string pcre2_syntax_of(const std::string& python, const std::string& place) {
  return Translation(python, place).translate();
}

}  // namespace trainx::adapter
