#include "corpus/record.hpp"
#include "core/number.hpp"
#include "core/process.hpp"
#include "core/suggest.hpp"
#include "data/labelled/field_cutter.hpp"
#include "data/labelled/json_line.hpp"
#include "data/labelled/line_rules.hpp"
#include "data/source.hpp"
#include "yaml/problems.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace trainx::corpus {
namespace {

using data::labelled::LinePlace;
using nlohmann::json;

constexpr std::int64_t most_tag = std::numeric_limits<std::int32_t>::max();

class JsonReader final : public RecordReader {
 public:
  explicit JsonReader(const FieldNames& names) : names_(names) {}

  Record read(std::string_view line, const LinePlace& place) const override {
    const json object = parse(line, place);
    Record out;
    if (auto text = text_of(object, names_.text, place))
      out.text = std::move(*text);
    else if (given(object, names_.messages))
      return conversation_of(line, object);
    else if (given(object, names_.prompt) && given(object, names_.completion))
      return completion_of(object, place);
    else if (given(object, names_.words))
      return words_of(object, place);
    else if (given(object, "input_ids"))
      return tokens_of(line, place);
    else
      place.refuse("has no " + yaml::excerpt(names_.text) + fields_of(object));
    out.pair = text_of(object, names_.pair, place);
    if (const auto label = object.find(names_.label); label != object.end() && !label->is_null()) {
      const bool numbers = label->is_array() && !label->empty() &&
                           std::ranges::all_of(*label, &json::is_number);
      if (!label->is_number() && !numbers)
        place.refuse(yaml::excerpt(names_.label) +
                     " is neither a number nor a list of numbers: classes are 0, 1, 2, ...");
      out.label = *label;
    }
    if (!out.pair && !out.label) out.target = text_of(object, names_.target, place);
    return out;
  }

 private:
  static bool given(const json& object, const std::string& name) {
    const auto found = object.find(name);
    return found != object.end() && !found->is_null();
  }
  static Record tokens_of(std::string_view line, const LinePlace& place) {
    Record out;
    out.tokens.emplace();
    data::labelled::WantedFields all;
    all.fill(true);
    data::labelled::make_json_parser(all)->parse(line, place, *out.tokens);
    data::SourceOptions any_length;
    any_length.sequence_length = std::int64_t{1} << 31;
    data::labelled::LineRules(any_length, false).check(*out.tokens, place);
    return out;
  }
  Record completion_of(const json& object, const LinePlace& place) const {
    auto prompt = text_of(object, names_.prompt, place),
         completion = text_of(object, names_.completion, place);
    if (completion->empty())
      place.refuse("has nothing in its " + yaml::excerpt(names_.completion) +
                   ", so that nothing is learned: take the " + place.unit() + " out");
    Record out;
    out.text = std::move(*prompt);
    out.completion = std::move(completion);
    return out;
  }
  Record words_of(const json& object, const LinePlace& place) const {
    const json& words = object[names_.words];
    if (!given(object, names_.tags))
      place.refuse("has " + yaml::excerpt(names_.words) + " and no " + yaml::excerpt(names_.tags) +
                   ": name the field with a class for each word with --tags");
    const json& tags = object[names_.tags];
    if (!words.is_array() || words.empty() || !std::ranges::all_of(words, &json::is_string))
      place.refuse(yaml::excerpt(names_.words) + " is no list of words");
    if (!tags.is_array() || tags.size() != words.size())
      place.refuse(yaml::excerpt(names_.tags) + " is no list of " + std::to_string(words.size()) +
                   " classes, one for each word");
    Record out;
    out.words.emplace();
    for (const json& word : words) out.words->words.push_back(word.get<std::string>());
    for (const json& tag : tags) {
      const auto is_class = [&] {
        const auto id = tag.get<std::int64_t>();
        return id == data::no_target || (id >= 0 && id <= most_tag);
      };
      if (!tag.is_number_integer() || !is_class())
        place.refuse(yaml::excerpt(names_.tags) + " has " + yaml::excerpt(tag.dump()) +
                     "; a tag is a class, 0, 1, 2, ..., or -100 for a word without one");
      out.words->tags.push_back(tag.get<std::int64_t>());
    }
    return out;
  }
  /// Once more with its keys in order, as templates write them.
  Record conversation_of(std::string_view line, const json& object) const {
    const auto ordered = nlohmann::ordered_json::parse(line);
    Record out;
    out.conversation = nlohmann::ordered_json{{"messages", ordered[names_.messages]}};
    if (given(object, "tools")) (*out.conversation)["tools"] = ordered["tools"];
    return out;
  }
  static json parse(std::string_view line, const LinePlace& place) {
    try {
      json object = json::parse(line);
      if (!object.is_object())
        place.refuse("is " + std::string(object.is_array() ? "a JSON array" : object.type_name()) +
                     ", not a JSON object");
      return object;
    } catch (const json::parse_error& e) {
      if (line.starts_with("["))
        place.refuse(
            "begins a JSON array, where an object a line is expected: give the array as a file, "
            "not through a pipe");
      place.refuse("has malformed JSON at byte " + std::to_string(e.byte) + " of the " +
                   place.unit() + ": correct it, or remove the " + place.unit());
    } catch (const json::out_of_range&) { place.refuse("has a number that is too large"); }
  }
  /// The fields that an object has instead, and what to do.
  static std::string fields_of(const json& object) {
    constexpr std::size_t most = 8;
    std::string names;
    std::size_t shown = 0;
    for (const auto& item : object.items())
      if (shown++ < most) names += (names.empty() ? "" : ", ") + yaml::excerpt(item.key());
    if (shown > most) names += " and " + std::to_string(shown - most) + " more";
    if (names.empty()) return ": the object is empty";
    const bool instructions = (object.contains("instruction") && object.contains("output")) ||
                              (object.contains("prompt") && object.contains("response"));
    return "; its fields are " + names + ": " +
           (object.contains("conversations")
                ? "give each as \"messages\": [{\"role\": \"user\", \"content\": ...}, ...]"
            : instructions
                ? "name those of a question and its answer with --prompt and --completion"
                : "name the one with the text with --text");
  }
  static std::optional<std::string> text_of(const json& object, const std::string& name,
                                            const LinePlace& place) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (!found->is_string())
      place.refuse("has a field " + yaml::excerpt(name) + " that is not text");
    return found->get<std::string>();
  }

  FieldNames names_;
};

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

class ColumnReader final : public RecordReader {
 public:
  ColumnReader(std::string_view header, const LinePlace& place, const FieldNames& names, bool tabs)
      : tabs_(tabs) {
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
    }
    if (text_ == absent)
      place.refuse("the header names no column " + yaml::excerpt(names.text) +
                   did_you_mean(names.text, printable(columns)) +
                   ": the first line names the columns; --text, --pair and --label choose them");
  }

  Record read(std::string_view line, const LinePlace& place) const override {
    check_text(std::string(line), place);
    Record out;
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
      else if (column == label_ && !field.empty())
        out.label = number(field, place);
    });
    if (count != count_)
      place.refuse("has " + std::to_string(count) + " fields, but the header " +
                   std::to_string(count_));
    if (out.completion && out.completion->empty())
      place.refuse("has an empty completion, so that nothing is learned: take the line out");
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
  static json number(const std::string& field, const LinePlace& place) {
    if (const auto whole = parse_integer(field)) return *whole;
    const auto value = parse_decimal(field);
    if (!value || !std::isfinite(*value))
      place.refuse("the label " + yaml::excerpt(field) + " is no number: classes are 0, 1, 2, ...");
    return *value;
  }

  static constexpr std::size_t absent = ~std::size_t{0};
  bool tabs_;
  std::size_t count_ = 0, text_ = absent, pair_ = absent, label_ = absent, completion_ = absent,
              target_ = absent;
};

}  // namespace

std::string TaggedWords::text() const {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::unique_ptr<RecordReader> make_json_reader(const FieldNames& names) {
  return std::make_unique<JsonReader>(names);
}
std::unique_ptr<RecordReader> make_csv_reader(std::string_view header, const LinePlace& place,
                                              const FieldNames& names) {
  return std::make_unique<ColumnReader>(header, place, names, false);
}
std::unique_ptr<RecordReader> make_tsv_reader(std::string_view header, const LinePlace& place,
                                              const FieldNames& names) {
  return std::make_unique<ColumnReader>(header, place, names, true);
}

}  // namespace trainx::corpus
