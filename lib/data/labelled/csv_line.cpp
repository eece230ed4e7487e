#include "data/labelled/csv_line.hpp"
#include <algorithm>
#include <charconv>
#include <optional>

namespace trainx::data::labelled {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Takes the fields of a line one after another.
class FieldCutter {
 public:
  FieldCutter(std::string_view text, char delimiter, const LinePlace& place) : text_(text), delimiter_(delimiter), place_(place) {}

  /// The next field without its quotes (quotes doubled inside stay so: no field that is read holds any); false after the last.
  bool next(std::string_view& field) {
    if (at_end_) return false;
    ++count_;
    std::size_t end = 0;                // of the field, where its delimiter stands
    if (!text_.empty() && text_[0] == '"') {
      const std::size_t close = closing_quote();
      end = close + 1;
      field = text_.substr(1, close - 1);
      if (end < text_.size() && text_[end] != delimiter_) place_.refuse("field " + std::to_string(count_) + " goes on after its closing quote");
    } else {
      end = std::min(text_.find(delimiter_), text_.size());
      field = text_.substr(0, end);
    }
    at_end_ = end >= text_.size();
    text_.remove_prefix(at_end_ ? text_.size() : end + 1);
    return true;
  }

 private:
  std::size_t closing_quote() const {
    for (std::size_t at = text_.find('"', 1); at != std::string_view::npos; at = text_.find('"', at + 2)) {
      if (at + 1 >= text_.size() || text_[at + 1] != '"') return at;
    }
    place_.refuse("field " + std::to_string(count_) + " has a quote that is not closed on its line");
  }

  std::string_view text_;
  char delimiter_;
  const LinePlace& place_;
  std::size_t count_ = 0;
  bool at_end_ = false;
};

class CsvParser final : public LineParser {
 public:
  CsvParser(std::string_view header, const LinePlace& place, char delimiter, const WantedFields& wanted) : delimiter_(delimiter) {
    FieldCutter cutter(header, delimiter, place);
    WantedFields seen{};
    for (std::string_view name; cutter.next(name);) {
      const auto found = std::ranges::find(field_names, trimmed(name));
      const auto index = static_cast<std::size_t>(found - field_names.begin());
      columns_.emplace_back();
      if (found == field_names.end()) continue;
      if (std::exchange(seen[index], true)) place.refuse("the header names the column " + std::string(*found) + " twice");
      if (wanted[index]) columns_.back() = static_cast<FieldName>(index);
    }
    if (!seen[0]) {
      place.refuse("the header names no column input_ids: the first line names the columns, separated by " + std::string(delimiter == '\t' ? "tabs" : "commas") +
                   " (data.delimiter)");
    }
  }

  void parse(std::string_view text, const LinePlace& place, Line& out) const override {
    FieldCutter cutter(text, delimiter_, place);
    std::size_t count = 0;
    for (std::string_view field; cutter.next(field); ++count) {
      if (count < columns_.size() && columns_[count]) read(field, *columns_[count], place, out);
    }
    if (count != columns_.size()) place.refuse("has " + std::to_string(count) + " fields, but the header " + std::to_string(columns_.size()));
  }

 private:
  static void read(std::string_view text, FieldName name, const LinePlace& place, Line& out) {
    std::vector<std::int64_t>& values = out[name].values;
    const char *at = text.data(), *const end = at + text.size();
    for (;;) {
      while (at != end && *at == ' ') ++at;
      if (at == end) break;
      std::int64_t value = 0;
      const auto [after, error] = std::from_chars(at, end, value);
      if (error != std::errc() || (after != end && *after != ' ')) {
        place.refuse(std::string(field_names[static_cast<std::size_t>(name)]) + "[" + std::to_string(values.size()) +
                     "] is no integer: a field holds integers separated by blanks");
      }
      values.push_back(value);
      at = after;
    }
    out[name].given = !values.empty();
    if (name == FieldName::label && values.size() > 1) place.refuse("label has " + std::to_string(values.size()) + " integers, not one");
  }

  char delimiter_;
  std::vector<std::optional<FieldName>> columns_;   // nothing: not read
};

}  // namespace

std::unique_ptr<LineParser> make_csv_parser(std::string_view header, const LinePlace& place, spec::Delimiter delimiter, const WantedFields& wanted) {
  return std::make_unique<CsvParser>(header, place, delimiter == spec::Delimiter::tab ? '\t' : ',', wanted);
}

}  // namespace trainx::data::labelled
