#include "data/json_records.hpp"
#include "core/error.hpp"
#include "data/labelled/line.hpp"
#include <algorithm>

namespace trainx::data {
namespace {

constexpr std::string_view blanks = " \t\r\n", byte_order_mark = "\xEF\xBB\xBF";

std::size_t beginning(std::string_view text) {
  return text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
}

struct Scan {
  std::size_t end = 0;     // behind the object; 0: the text ends before it does
  bool in_string = false;  // the text ends inside a string
};

/// Of the object that begins at `at`: brackets and strings alone are looked at.
Scan scan_object(std::string_view text, std::size_t at) {
  std::int64_t depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return {i + 1, false};
    } else if (c == '"') {
      while (++i < text.size() && text[i] != '"')
        if (text[i] == '\\') ++i;  // the next character belongs to the escape
      if (i >= text.size()) return {0, true};
    }
  }
  return {};
}

/// What begins with this byte, for a sentence.
std::string kind_at(char c) {
  switch (c) {
    case '[': return "an array";
    case '"': return "a string";
    case 't':
    case 'f': return "a truth value";
    case 'n': return "null";
    default: return (c >= '0' && c <= '9') || c == '-' ? "a number" : "no JSON";
  }
}

}  // namespace

JsonLayout json_layout(std::string_view text) {
  const std::size_t at = text.find_first_not_of(blanks, beginning(text));
  if (at == std::string_view::npos) return JsonLayout::empty;
  if (text[at] == '[') return JsonLayout::array;
  if (text[at] != '{') return JsonLayout::other;
  // JSON lines have a whole object on each line; a line that the caller cut off counts as one.
  // A line that ends inside a string is malformed, which whoever reads it as a line says.
  const std::size_t newline = text.find('\n', at);
  if (newline == std::string_view::npos) return JsonLayout::lines;
  const Scan scan = scan_object(text.substr(0, newline), at);
  return scan.end > 0 || scan.in_string ? JsonLayout::lines : JsonLayout::object;
}

JsonRecords::JsonRecords(std::string_view text, const std::string& path)
    : text_(text), path_(path) {
  const std::size_t at = skip_blanks(beginning(text));
  if (at == text.size() || text[at] != '[')
    refuse(at, "does not begin with '[': it is no JSON array");
  end_ = at + 1;
}

JsonRecords::JsonRecords(std::string_view text, const std::string& path, std::size_t begin,
                         std::int64_t number)
    : text_(text), path_(path), end_(begin), number_(number - 1) {}

bool JsonRecords::next() {
  std::size_t at = skip_blanks(end_);
  const bool first = number_ == 0,
             resumed = begin_ == 0 && number_ > 0;  // resumed: the comma is behind
  if (at < text_.size() && text_[at] == ']') {
    require_end(at + 1);
    return false;
  }
  if (!first && !resumed) {
    if (at < text_.size() && text_[at] != ',')
      refuse(at, "has no comma between records " + std::to_string(number_) + " and " +
                     std::to_string(number_ + 1));
    at = skip_blanks(std::min(at + 1, text_.size()));
  }
  const std::string record = "record " + std::to_string(number_ + 1);
  if (at == text_.size())
    refuse(at,
           "ends before " + record + " of its array: the file is cut off, or its ']' is missing");
  if (text_[at] == ']') refuse(at, "has a comma before its ']'");
  if (text_[at] != '{')
    refuse(at, record + " of the array is " + kind_at(text_[at]) + ", not an object");
  begin_ = at;
  end_ = end_of_object(at);
  ++number_;
  return true;
}

std::int64_t JsonRecords::line() const {
  return std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin_), '\n') + 1;
}

void JsonRecords::refuse(std::size_t at, const std::string& what) const {
  const std::int64_t line =
      std::count(text_.begin(),
                 text_.begin() + static_cast<std::ptrdiff_t>(std::min(at, text_.size())), '\n') +
      1;
  labelled::LinePlace{path_, line}.refuse(what);
}

std::size_t JsonRecords::skip_blanks(std::size_t at) const {
  return std::min(text_.find_first_not_of(blanks, at), text_.size());
}

std::size_t JsonRecords::end_of_object(std::size_t at) const {
  if (const Scan scan = scan_object(text_, at); scan.end > 0) return scan.end;
  refuse(at,
         "record " + std::to_string(number_ + 1) +
             " of the array does not end: the file is cut off, or a quote or bracket is missing");
}

void JsonRecords::require_end(std::size_t at) const {
  if (const std::size_t more = skip_blanks(at); more < text_.size())
    refuse(more, "goes on after the array's ']'");
}

}  // namespace trainx::data
