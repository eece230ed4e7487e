#include "tokenizer/pattern/syntax.hpp"
#include "tokenizer/pattern/set_reader.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include "yaml/problems.hpp"
#include <algorithm>

namespace trainx::tokenizer {
namespace {

/// Groups, alternatives and repetitions, around sets.
class Parser {
 public:
  Parser(const std::string& pattern, const std::string& place) : reader_(pattern, place) {}

  PatternParts parse() {
    std::vector<bool> caseless_outside;
    while (reader_.peek() != SetReader::end_of_pattern) {
      const std::uint32_t c = reader_.take();
      if (c == '(') {
        caseless_outside.push_back(reader_.caseless);
        open_group(caseless_outside);
      } else if (c == ')') {
        if (caseless_outside.empty()) reader_.refuse("closes a group that is not open");
        reader_.caseless = caseless_outside.back();
        caseless_outside.pop_back();
        put(")");
      } else if (c == '|') {
        put("|");
      } else if (c == '*' || c == '+' || c == '?') {
        put(std::string(1, static_cast<char>(c)));
      } else if (c == '{') {
        repetition();
      } else if (c == '^' || c == '$') {
        reader_.refuse(std::string("has the anchor ") + static_cast<char>(c) +
                       ", which trainx does not support");
      } else {
        set(c == '['    ? reader_.bracket()
            : c == '.'  ? SetReader::any_but_newline()
            : c == '\\' ? reader_.escape()
                        : literal(c));
      }
      last_literal_ = c >= 'a' && c <= 'z' ? c : c >= 'A' && c <= 'Z' ? c + 32 : 0;
    }
    if (!caseless_outside.empty()) reader_.refuse("has a group that is not closed");
    return std::move(out_);
  }

 private:
  void put(std::string syntax) { out_.parts.push_back({std::move(syntax), -1}); }
  void set(SetReader::Set set) {
    out_.parts.push_back({"", static_cast<int>(out_.sets.size())});
    out_.sets.push_back(std::move(set));
  }

  void open_group(std::vector<bool>& caseless_outside) {
    if (!reader_.take_if("?")) return put("(?:");  // nothing refers to groups
    for (const std::string_view kind : {":", "=", "!", "<=", "<!", ">"})
      if (reader_.take_if(kind)) return put("(?" + std::string(kind));
    if (reader_.take_if("i:")) {
      reader_.caseless = true;
      return put("(?:");
    }
    if (reader_.take_if("i)")) {  // to the end of the group around
      caseless_outside.pop_back();
      reader_.caseless = true;
      return put("");
    }
    reader_.refuse("has a group " + yaml::excerpt("(?" + next_text()) +
                   " that trainx does not support");
  }

  std::string next_text() const {
    std::string text;
    if (reader_.peek() != SetReader::end_of_pattern) append_utf8(reader_.peek(), text);
    return text;
  }

  void repetition() {
    const std::string inside = reader_.take_until('}').value_or("");
    const std::size_t comma = inside.find(',');
    const auto number = [](std::string_view t) {
      return !t.empty() && t.size() < 5 &&
             t.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const std::string low = inside.substr(0, comma),
                      high = comma == std::string::npos ? low : inside.substr(comma + 1);
    if (!((number(low) || (low.empty() && number(high))) && (high.empty() || number(high))))
      reader_.refuse("has a { that begins no repetition {n,m}");
    if (reader_.peek() == '+') reader_.refuse("has {n,m}+, which trainx does not support");
    put("{" + (low.empty() ? std::string("0") : low) + (comma == std::string::npos ? "" : ",") +
        (comma == std::string::npos ? "" : high) + "}");
  }

  SetReader::Set literal(std::uint32_t c) {
    // Oniguruma takes one code point for several of these: U+00DF for ss.
    if (reader_.caseless && last_literal_ != 0 && c < 0x80) {
      const std::string pair{static_cast<char>(last_literal_), static_cast<char>(c | 32)};
      for (const char* folded : {"ss", "ff", "fi", "fl", "st"})
        if (pair == folded)
          reader_.refuse("folds the case of '" + pair + "', which trainx does not support");
    }
    return reader_.character(c);
  }

  SetReader reader_;
  std::uint32_t last_literal_ = 0;  // the letter just before, in lower case
  PatternParts out_;
};

}  // namespace

PatternParts parse_pattern(const std::string& pattern, const std::string& place) {
  return Parser(pattern, place).parse();
}

}  // namespace trainx::tokenizer
