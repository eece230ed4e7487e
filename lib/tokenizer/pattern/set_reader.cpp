#include "tokenizer/pattern/set_reader.hpp"
#include "core/error.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <utility>

namespace trainx::tokenizer {
namespace {

using Set = SetReader::Set;

constexpr std::pair<std::string_view, CodePointClass> scripts[] = {
    {"Han", CodePointClass::script_han},
    {"Hiragana", CodePointClass::script_hiragana},
    {"Katakana", CodePointClass::script_katakana},
    {"Hangul", CodePointClass::script_hangul},
    {"Latin", CodePointClass::script_latin},
    {"Greek", CodePointClass::script_greek},
    {"Cyrillic", CodePointClass::script_cyrillic},
    {"Arabic", CodePointClass::script_arabic},
    {"Hebrew", CodePointClass::script_hebrew},
    {"Thai", CodePointClass::script_thai},
    {"Devanagari", CodePointClass::script_devanagari}};

Set inverted(Set set) {
  set.invert();
  return set;
}

}  // namespace

void SetReader::refuse(const std::string& what) const {
  throw UserError(ExitCode::bad_data,
                  place_ + ": the pattern " + yaml::excerpt(text_) + " " + what);
}

std::uint32_t SetReader::peek() const {
  if (at_ >= text_.size()) return end_of_pattern;
  std::size_t at = at_;
  return next_code_point(text_, at);
}
std::uint32_t SetReader::take() {
  if (at_ >= text_.size()) refuse("ends too early");
  return next_code_point(text_, at_);
}
bool SetReader::take_if(std::string_view what) {
  if (!std::string_view(text_).substr(at_).starts_with(what)) return false;
  at_ += what.size();
  return true;
}

std::optional<std::string> SetReader::take_until(char end) {
  const std::size_t found = text_.find(end, at_);
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin = std::exchange(at_, found + 1);
  return text_.substr(begin, found - begin);
}

SetReader::Set SetReader::any_but_newline() {
  Set set;
  set.add('\n', '\n');
  return inverted(std::move(set));
}

void SetReader::add(std::uint32_t first, std::uint32_t last, Set& set) const {
  set.add(first, last);
  if (!caseless) return;
  for (std::uint32_t c = first; c <= last; ++c) {
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    if (c >= 0x80)
      refuse("folds the case of a letter that is not ASCII, which trainx does not support");
    if (!upper && !lower) continue;
    for (const Folded& f : case_folds())
      if (f.letter == static_cast<char>(upper ? c + 32 : c)) set.add(f.code_point, f.code_point);
    set.add(upper ? c + 32 : c, upper ? c + 32 : c);
  }
}

SetReader::Set SetReader::character(std::uint32_t c) const {
  Set set;
  add(c, c, set);
  return set;
}

SetReader::Set SetReader::property() {
  const bool inverse = text_[at_ - 1] == 'P';
  if (!take_if("{")) refuse("has \\p without {a property}");
  const bool caret = take_if("^");
  const auto closed = take_until('}');
  if (!closed) refuse("has \\p{ that is not closed");
  const std::string& name = *closed;
  Set set;
  if (const CodePointRanges* category = ranges_of_category(name)) {
    set = *category;
  } else {
    const auto found = std::ranges::find(scripts, name, [](const auto& s) { return s.first; });
    if (found == std::end(scripts))
      refuse("has the property " + yaml::excerpt(name) + ", which trainx does not support");
    set = Set(found->second);
  }
  return inverse != caret ? inverted(std::move(set)) : std::move(set);
}

std::uint32_t SetReader::hexadecimal(std::size_t longest) {
  std::uint32_t value = 0;
  std::size_t digits = 0;
  for (; digits < longest && at_ < text_.size(); ++digits, ++at_) {
    const char c = text_[at_];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  if (digits == 0 || value >= code_points) refuse("has an escape of no code point");
  return value;
}

/// Behind a backslash: one code point, or nothing where it is a set.
std::optional<std::uint32_t> SetReader::escaped_code_point(std::uint32_t c) {
  switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'a': return '\a';
    case 'e': return 0x1b;
    case '0': return 0;
    case 'u': return hexadecimal(4);
    case 'x': {
      if (!take_if("{")) {
        const std::uint32_t byte = hexadecimal(2);
        if (byte >= 0x80) refuse("has an escape of a byte that is not ASCII");
        return byte;
      }
      const std::uint32_t value = hexadecimal(6);
      if (!take_if("}")) refuse("has \\x{ that is not closed");
      return value;
    }
    default: break;
  }
  const bool plain = c < 0x80 &&
                     !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
  return plain || c >= 0x80 ? std::optional(c) : std::nullopt;
}

SetReader::Set SetReader::escaped_set(std::uint32_t c, bool in_brackets) {
  switch (c) {
    case 's': return Set(CodePointClass::onig_space);
    case 'S': return inverted(Set(CodePointClass::onig_space));
    case 'w': return Set(CodePointClass::onig_word);
    case 'W': return inverted(Set(CodePointClass::onig_word));
    case 'd': return *ranges_of_category("Nd");
    case 'D': return inverted(*ranges_of_category("Nd"));
    case 'p':
    case 'P': return property();
    default:
      refuse("has \\" + std::string(1, static_cast<char>(c)) + (in_brackets ? " in brackets" : "") +
             ", which trainx does not support");
  }
}

SetReader::Set SetReader::escape() {
  const std::uint32_t c = take();
  const auto code_point = escaped_code_point(c);
  return code_point ? character(*code_point) : escaped_set(c, false);
}

SetReader::Set SetReader::bracket() {
  constexpr int deepest = 16;
  if (++depth_ > deepest) refuse("nests brackets too deeply");
  if (take_if(":")) refuse("has a POSIX bracket [:, which trainx does not support");
  const bool inverse = take_if("^");
  Set set;
  for (bool first = true;; first = false) {
    const std::uint32_t c = take();
    if (c == ']' && !first) break;
    if (c == ']') refuse("has brackets that begin with ], which trainx does not support");
    if (c == '[') {
      set |= bracket();
      continue;
    }
    if (c == '&' && peek() == '&')
      refuse("intersects brackets with &&, which trainx does not support");
    std::optional<std::uint32_t> low = c;
    if (c == '\\') {
      const std::uint32_t e = take();
      low = escaped_code_point(e);
      if (!low) {
        set |= escaped_set(e, true);
        continue;
      }
    }
    std::uint32_t high = *low;
    if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
      take();
      high = take();
      if (high == '[') refuse("has a range that ends with brackets");
      if (high == '\\') {
        const auto escaped = escaped_code_point(take());
        if (!escaped) refuse("has a range that ends with a set");
        high = *escaped;
      }
      if (high < *low) refuse("has a range that goes backwards");
    }
    add(*low, high, set);
  }
  --depth_;
  return inverse ? inverted(std::move(set)) : std::move(set);
}

}  // namespace trainx::tokenizer
