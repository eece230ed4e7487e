#include "data/labelled/csv_line.hpp"
#include "data/labelled/field_cutter.hpp"
#include "data/labelled/unread_field.hpp"
#include "data/labelled/whole_number.hpp"
#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace trainx::data::labelled {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

class CsvParser final : public LineParser {
 public:
  CsvParser(std::string_view header, const LinePlace& place, char delimiter,
            const WantedFields& wanted, bool real_labels)
      : delimiter_(delimiter), real_labels_(real_labels) {
    FieldCutter cutter(header, delimiter, place);
    WantedFields seen{};
    std::vector<std::string_view> unread;
    for (std::string_view name; cutter.next(name);) {
      const auto found = std::ranges::find(field_names, trimmed(name));
      const auto index = static_cast<std::size_t>(found - field_names.begin());
      columns_.emplace_back();
      if (found == field_names.end()) {
        if (!remedy_of_unread(trimmed(name)).empty()) refuse_unread(trimmed(name), place);
        unread.emplace_back(trimmed(name));
        continue;
      }
      if (std::exchange(seen[index], true))
        place.refuse("the header names the column " + std::string(*found) + " twice");
      if (wanted[index]) columns_.back() = static_cast<FieldName>(index);
    }
    if (!seen[0]) {
      place.refuse(
          "the header names no column input_ids: the first line names the columns, separated by " +
          std::string(delimiter == '\t' ? "tabs" : "commas") +
          " (data.delimiter); `trainx data tokenize FILE --tokenizer FOLDER --out OUT.jsonl` makes "
          "input_ids of text");
    }
    for (const std::string_view name : unread)
      if (const auto meant = near_miss(name, wanted);
          meant && !seen[static_cast<std::size_t>(*meant)])
        refuse_near_miss(name, *meant, place);
  }

  void parse(std::string_view text, const LinePlace& place, Line& out) const override {
    place.check_size(text);
    FieldCutter cutter(text, delimiter_, place);
    std::size_t count = 0;
    for (std::string_view field; cutter.next(field); ++count) {
      if (count >= columns_.size() || !columns_[count]) continue;
      const FieldName name = *columns_[count];
      if (real_labels_ && (name == FieldName::label || name == FieldName::labels))
        out[name].given = append(field, name,
                                 "is no number: a field holds numbers separated by blanks", place,
                                 out.numbers);
      else
        read(field, name, place, out);
    }
    if (count != columns_.size())
      place.refuse("has " + std::to_string(count) + " fields, but the header " +
                   std::to_string(columns_.size()));
  }

 private:
  static void read(std::string_view text, FieldName name, const LinePlace& place, Line& out) {
    std::vector<std::int64_t>& values = out[name].values;
    if (name == FieldName::label)
      if (const auto whole = whole_class(text)) {
        values.push_back(*whole);
        out[name].given = true;
        return;
      }
    out[name].given = append(
        text, name, "is no integer: a field holds integers separated by blanks", place, values);
    if (name == FieldName::label && values.size() > 1)
      place.refuse("label has " + std::to_string(values.size()) + " integers, not one");
  }

  /// Of "1.0", as pandas writes classes where a column once had gaps.
  static std::optional<std::int64_t> whole_class(std::string_view text) {
    double value = 0;
    const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || after != text.data() + text.size()) return std::nullopt;
    return whole_number(value);
  }

  /// Were there any?
  template <class T>
  static bool append(std::string_view text, FieldName name, const char* otherwise,
                     const LinePlace& place, std::vector<T>& values) {
    const char *at = text.data(), *const end = at + text.size();
    const std::size_t before = values.size();
    for (;;) {
      while (at != end && *at == ' ') ++at;
      if (at == end) return values.size() > before;
      T value = 0;
      const auto [after, error] = std::from_chars(at, end, value);
      if (error != std::errc() || (after != end && *after != ' '))
        place.refuse(std::string(field_names[static_cast<std::size_t>(name)]) + "[" +
                     std::to_string(values.size()) + "] " + otherwise);
      values.push_back(value);
      at = after;
    }
  }

  char delimiter_;
  bool real_labels_;
  std::vector<std::optional<FieldName>> columns_;  // nothing: not read
};

}  // namespace

std::unique_ptr<LineParser> make_csv_parser(std::string_view header, const LinePlace& place,
                                            options::Delimiter delimiter,
                                            const WantedFields& wanted, bool real_labels) {
  return std::make_unique<CsvParser>(
      header, place, delimiter == options::Delimiter::tab ? '\t' : ',', wanted, real_labels);
}

}  // namespace trainx::data::labelled
