#include "jinja/error.hpp"
#include "jinja/string_literal.hpp"
#include "jinja/token.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

namespace trainx::jinja {
namespace {

std::string with_plain_line_ends(const std::string& source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  explicit Lexer(const std::string& source) : source_(with_plain_line_ends(source)) {}

  std::vector<Token> read() {
    while (at_ < source_.size()) data();
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw TemplateError(Problem::syntax, "line " + std::to_string(line_) + ": " + what);
  }
  void add(TokenKind kind, std::string text) {
    Token token;
    token.kind = kind;
    token.text = std::move(text);
    token.line = line_;
    tokens_.push_back(std::move(token));
  }
  bool looks_at(const char* text, std::size_t at) const {
    return source_.compare(at, std::strlen(text), text) == 0;
  }
  void move_to(std::size_t to) {
    line_ += static_cast<std::size_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 source_.begin() + static_cast<std::ptrdiff_t>(to),
                                                 '\n'));
    line_starts_ = to > 0 && source_[to - 1] == '\n';
    at_ = to;
  }
  std::size_t skip_space(std::size_t at) const {
    while (at < source_.size()) {
      const auto [point, size] = code_point_at(source_, at);
      if (!is_space(point)) break;
      at += size;
    }
    return at;
  }

  /// Text up to a tag, and the tag.
  void data() {
    std::size_t begin = at_;
    while (true) {
      begin = source_.find('{', begin);
      if (begin == std::string::npos) {
        add(TokenKind::data, source_.substr(at_));
        return move_to(source_.size());
      }
      const char next = begin + 1 < source_.size() ? source_[begin + 1] : 0;
      if (next == '{' || next == '%' || next == '#') break;
      ++begin;
    }
    const char kind = source_[begin + 1];
    std::size_t inside = begin + 2;
    const char sign = inside < source_.size() ? source_[inside] : 0;
    if (sign == '-' || sign == '+') ++inside;
    const std::size_t raw = kind == '%' ? raw_block(inside) : std::string::npos;
    std::string text = source_.substr(at_, begin - at_);
    if (sign == '-')
      text.resize(end_without_space(text));
    else if (sign != '+' && kind != '{')
      strip_line(text);
    if (!text.empty()) add(TokenKind::data, std::move(text));
    if (raw != std::string::npos) {
      move_to(raw);
      return raw_text();
    }
    move_to(inside);
    if (kind == '#') return comment();
    tag(kind == '{');
  }
  /// Blanks between the line's begin and a block.
  void strip_line(std::string& text) const {
    const std::size_t newline = text.rfind('\n');
    const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
    const bool starts = begin > 0 || at_ == 0 || line_starts_;
    if (starts && end_without_space(std::string_view(text).substr(begin)) == 0) text.resize(begin);
  }
  /// Behind {% raw %}; npos: it is another block.
  std::size_t raw_block(std::size_t inside) const {
    const std::size_t word = skip_space(inside);
    if (!looks_at("raw", word)) return std::string::npos;
    const std::size_t end = skip_space(word + 3);
    if (looks_at("-%}", end)) return skip_space(end + 3);
    return looks_at("%}", end) ? end + 2 : std::string::npos;
  }
  void raw_text() {
    for (std::size_t begin = source_.find("{%", at_); begin != std::string::npos;
         begin = source_.find("{%", begin + 1)) {
      std::size_t inside = begin + 2;
      const char sign = inside < source_.size() ? source_[inside] : 0;
      if (sign == '-' || sign == '+') ++inside;
      const std::size_t word = skip_space(inside);
      if (!looks_at("endraw", word)) continue;
      const std::size_t end = end_of_block(skip_space(word + 6));
      if (end == std::string::npos) continue;
      std::string text = source_.substr(at_, begin - at_);
      if (sign == '-')
        text.resize(end_without_space(text));
      else if (sign != '+')
        strip_line(text);
      if (!text.empty()) add(TokenKind::data, std::move(text));
      return move_to(end);
    }
    wrong("a raw block does not end");
  }
  void comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) wrong("a comment does not end");
    std::size_t behind = end + 2;
    if (end > at_ && source_[end - 1] == '-')
      behind = skip_space(behind);
    else if ((end == at_ || source_[end - 1] != '+') && looks_at("\n", behind))
      ++behind;
    move_to(behind);
  }
  /// Behind %}, with what its sign removes; npos: no block ends here.
  std::size_t end_of_block(std::size_t at) const {
    if (looks_at("+%}", at)) return at + 3;
    if (looks_at("-%}", at)) return skip_space(at + 3);
    if (!looks_at("%}", at)) return std::string::npos;
    return looks_at("\n", at + 2) ? at + 3 : at + 2;
  }
  std::size_t end_of_variable(std::size_t at) const {
    if (looks_at("-}}", at)) return skip_space(at + 3);
    return looks_at("}}", at) ? at + 2 : std::string::npos;
  }
  void tag(bool variable) {
    add(variable ? TokenKind::variable_begin : TokenKind::block_begin, "");
    std::vector<char> open;
    while (true) {
      if (at_ >= source_.size()) wrong(variable ? "'{{' is not closed" : "'{%' is not closed");
      if (open.empty()) {
        const std::size_t end = variable ? end_of_variable(at_) : end_of_block(at_);
        if (end != std::string::npos) {
          add(variable ? TokenKind::variable_end : TokenKind::block_end, "");
          return move_to(end);
        }
      }
      const std::size_t word = skip_space(at_);
      if (word != at_)
        move_to(word);
      else
        expression_token(open);
    }
  }
  void expression_token(std::vector<char>& open) {
    const char c = source_[at_];
    if (is_digit(c)) return number();
    if (is_word(c)) {
      std::size_t end = at_;
      while (end < source_.size() && is_word(source_[end])) ++end;
      add(TokenKind::name, source_.substr(at_, end - at_));
      return move_to(end);
    }
    if (c == '\'' || c == '"') return literal(c);
    static constexpr std::array operators{"==", "!=", ">=", "<=", "//", "**", "+", "-", "/",
                                          "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                          ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    for (const char* op : operators) {
      if (!looks_at(op, at_)) continue;
      balance(op[0], open);
      add(TokenKind::op, op);
      return move_to(at_ + std::strlen(op));
    }
    wrong("unexpected character '" + std::string(1, c) + "'");
  }
  void balance(char c, std::vector<char>& open) const {
    if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c != ')' && c != ']' && c != '}') return;
    if (open.empty() || open.back() != c) wrong(std::string("unexpected '") + c + "'");
    open.pop_back();
  }
  void literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) wrong("a text is not closed");
    add(TokenKind::text, "");
    try {
      tokens_.back().text = unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1));
    } catch (const TemplateError& problem) { wrong(problem.what()); }
    move_to(end + 1);
  }
  std::size_t digits(std::size_t at) const {
    while (at < source_.size() &&
           (is_digit(source_[at]) || (source_[at] == '_' && at > at_ && at + 1 < source_.size() &&
                                      is_digit(source_[at + 1]))))
      ++at;
    return at;
  }
  void number() {
    const bool behind_dot = at_ > 0 && source_[at_ - 1] == '.';
    std::size_t end = digits(at_);
    bool real = false;
    if (!behind_dot && looks_at(".", end) && end + 1 < source_.size() &&
        is_digit(source_[end + 1])) {
      real = true;
      end = digits(end + 1);
    }
    if (!behind_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t power = end + 1;
      if (power < source_.size() && (source_[power] == '+' || source_[power] == '-')) ++power;
      if (power < source_.size() && is_digit(source_[power])) {
        real = true;
        end = digits(power);
      }
    }
    if (!real && end < source_.size() && is_word(source_[end]))
      unsupported("line " + std::to_string(line_) + ": a number with letters");
    std::string text;
    for (std::size_t i = at_; i < end; ++i)
      if (source_[i] != '_') text.push_back(source_[i]);
    Value value;
    if (real) {
      double number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      value = Value::real(number);
    } else {
      std::int64_t number = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
        unsupported("line " + std::to_string(line_) + ": a whole number beyond 64 bits");
      value = Value::integer(number);
    }
    add(real ? TokenKind::real : TokenKind::integer, text);
    tokens_.back().number = std::move(value);
    move_to(end);
  }

  std::string source_;
  std::size_t at_ = 0, line_ = 1;
  bool line_starts_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> read_tokens(const std::string& source) { return Lexer(source).read(); }

}  // namespace trainx::jinja
