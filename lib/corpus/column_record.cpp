// Records of csv and tsv.
#include "corpus/chat/other_forms.hpp"
#include "corpus/record.hpp"
#include "corpus/tagged_words.hpp"
#include "core/number.hpp"
#include "core/process.hpp"
#include "core/suggest.hpp"
#include "data/labelled/field_cutter.hpp"
#include "data/labelled/unread_field.hpp"
#include "yaml/problems.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace trainx::corpus {
namespace {

using data::labelled::LinePlace;
using nlohmann::json;

/// A list as JSON has it ("[1, 0]"), or what blanks separate ("1 0"). `numbers`: whatever is one is
/// no text. Null: a JSON that is no list.
json list_of(const std::string& field, bool numbers) {
  if (field.starts_with('[')) {
    json list = json::parse(field, nullptr, false);
    return list.is_array() ? list : json();
  }
  json list = json::array();
  std::istringstream parts(field);
  for (std::string part; parts >> part;) {
    const auto whole = numbers ? parse_integer(part) : std::nullopt;
    const auto value = numbers ? parse_decimal(part) : std::nullopt;
    if (whole)
      list.push_back(*whole);
    else if (value && std::isfinite(*value))
      list.push_back(*value);
    else
      list.push_back(part);
  }
  return list;
}

std::string unquoted(std::string_view field) {
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    out.push_back(field[i]);
    if (field[i] == '"' && i + 1 < field.size() && field[i + 1] == '"') ++i;
  }
  return out;
}

/// Calls `use(field)` for each field of a line.
template <class Use>
void for_each_field(std::string_view line, bool tabs, const LinePlace& place, Use&& use) {
  if (tabs) {
    for (std::size_t at = 0;;) {
      const std::size_t end = std::min(line.find('\t', at), line.size());
      use(std::string(line.substr(at, end - at)));
      if (end == line.size()) return;
      at = end + 1;
    }
  }
  data::labelled::FieldCutter cutter(line, ',', place);
  for (std::string_view field; cutter.next(field);) use(unquoted(field));
}

/// What programs write for a number that is none: NaN, -inf. It is no name of a class.
bool is_not_finite(std::string_view field) {
  if (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
  std::string word(field);
  std::ranges::transform(word, word.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return word == "nan" || word == "inf" || word == "infinity";
}

class ColumnReader final : public RecordReader {
 public:
  ColumnReader(std::string_view header, const LinePlace& place, const FieldNames& names, bool tabs)
      : names_(names), tabs_(tabs) {
    std::vector<std::string> columns;
    check_text(std::string(header), place);
    for_each_field(header, tabs, place,
                   [&](std::string name) { columns.push_back(std::move(name)); });
    count_ = columns.size();
    const auto index_of = [&](const std::string& name) {
      const auto found = std::ranges::find(columns, name);
      return found == columns.end() ? absent : static_cast<std::size_t>(found - columns.begin());
    };
    text_ = index_of(names.text);
    pair_ = index_of(names.pair);
    label_ = index_of(names.label);
    if (pair_ == absent && label_ == absent) target_ = index_of(names.target);
    if (text_ == absent && index_of(names.completion) != absent) {
      text_ = index_of(names.prompt);
      completion_ = index_of(names.completion);
      pair_ = label_ = absent;
      if (names.prompt == "instruction") alpaca_[1] = index_of("input");
    } else if (text_ == absent && index_of("instruction") != absent &&
               index_of("output") != absent) {
      for (std::size_t i = 0; i < alpaca_.size(); ++i) alpaca_[i] = index_of(alpaca_fields[i]);
      is_alpaca_ = true;
      pair_ = label_ = target_ = absent;
    }
    if (text_ == absent && !is_alpaca_ && index_of(names.words) != absent) {
      words_ = index_of(names.words);
      tags_ = index_of(names.tags);
      pair_ = label_ = target_ = absent;
      if (tags_ == absent) refuse_words_alone(names, place);
    }
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (label_ == absent && words_ == absent && completion_ == absent && !is_alpaca_ &&
          c != text_ && c != pair_ && c != target_ && data::labelled::may_mean_target(columns[c]))
        unread_ = columns[c];
    if (completion_ != absent || is_alpaca_)
      for (const std::string& column : columns)
        if (const std::string remedy = data::labelled::remedy_beside_answers(column);
            !remedy.empty())
          place.refuse("the header names " + yaml::excerpt(column) +
                       " beside its answers, which is not read: " + remedy);
    if (text_ == absent && words_ == absent && !is_alpaca_)
      place.refuse("the header names no column " + yaml::excerpt(names.text) +
                   did_you_mean(names.text, printable(columns)) +
                   ": the first line names the columns; --text, --pair and --label choose them");
  }

  Record read(std::string_view line, const LinePlace& place) const override {
    check_text(std::string(line), place);
    Record out;
    out.unread = unread_;
    json words, tags;
    nlohmann::ordered_json alpaca;
    std::size_t count = 0;
    for_each_field(line, tabs_, place, [&](std::string field) {
      const std::size_t column = count++;
      if (column == text_)
        out.text = std::move(field);
      else if (column == pair_)
        out.pair = std::move(field);
      else if (column == completion_)
        out.completion = std::move(field);
      else if (column == target_)
        out.target = std::move(field);
      else if (column == words_)
        words = list_of(field, false);
      else if (column == tags_)
        tags = list_of(field, true);
      else if (column == label_ && !field.empty())
        out.label = label_of(field, place);
      else if (const auto at = std::ranges::find(alpaca_, column); at != alpaca_.end())
        alpaca[alpaca_fields[static_cast<std::size_t>(at - alpaca_.begin())]] = std::move(field);
    });
    if (count != count_)
      place.refuse("has " + std::to_string(count) + " fields, but the header " +
                   std::to_string(count_));
    if (out.completion && out.completion->empty())
      place.refuse("has an empty completion, so that nothing is learned: take the line out");
    if (words_ != absent) out.words = tagged_words(words, tags, names_, place);
    if (is_alpaca_) {
      out.conversation.emplace();
      (*out.conversation)["messages"] = alpaca_messages(alpaca, place);
    }
    if (completion_ != absent) check_whole_question(alpaca, place);
    return out;
  }

 private:
  static void check_text(const std::string& text, const LinePlace& place) {
    if (!is_utf8(text)) place.refuse("is not UTF-8: convert the file");
    if (text.find('\0') != std::string::npos) place.refuse("has a NUL byte: this is no text");
  }
  /// What may be told as it is.
  static std::vector<std::string> printable(std::vector<std::string> names) {
    std::erase_if(names,
                  [](const std::string& name) { return yaml::excerpt(name) != "'" + name + "'"; });
    return names;
  }
  /// A class, a number, a list of numbers, or the name of a class.
  static json label_of(const std::string& field, const LinePlace& place) {
    json label = list_of(field, true);
    if (label.size() == 1 && !field.starts_with('[')) label = label.front();
    const bool is_name = !field.starts_with('[') && !is_list_of_numbers(label) &&
                         !label.is_number() && !is_not_finite(field);
    json value = is_name ? json(field) : label_value(label);
    if (value.is_null() || (value.is_string() && !is_name))
      place.refuse("the label " + yaml::excerpt(field) +
                   " is neither a number, nor a list of numbers, nor the name of a class");
    return value;
  }

  static constexpr std::size_t absent = ~std::size_t{0};
  static constexpr std::array alpaca_fields{"instruction", "input", "output", "system", "history"};
  FieldNames names_;
  bool tabs_;
  std::string unread_;  // a column that may be meant for the label
  std::size_t count_ = 0, text_ = absent, pair_ = absent, label_ = absent, completion_ = absent,
              target_ = absent, words_ = absent, tags_ = absent;
  bool is_alpaca_ = false;
  std::array<std::size_t, alpaca_fields.size()> alpaca_{absent, absent, absent, absent, absent};
};

}  // namespace

std::unique_ptr<RecordReader> make_csv_reader(std::string_view header, const LinePlace& place,
                                              const FieldNames& names) {
  return std::make_unique<ColumnReader>(header, place, names, false);
}
std::unique_ptr<RecordReader> make_tsv_reader(std::string_view header, const LinePlace& place,
                                              const FieldNames& names) {
  return std::make_unique<ColumnReader>(header, place, names, true);
}

}  // namespace trainx::corpus
