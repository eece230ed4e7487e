#include "corpus/record.hpp"
#include "corpus/chat/other_forms.hpp"
#include "corpus/tagged_words.hpp"
#include "data/labelled/json_line.hpp"
#include "data/labelled/line_rules.hpp"
#include "data/labelled/unread_field.hpp"
#include "data/source.hpp"
#include "yaml/problems.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <utility>

namespace trainx::corpus {
namespace {

using data::labelled::FieldName, data::labelled::LinePlace;
using nlohmann::json;

class JsonReader final : public RecordReader {
 public:
  explicit JsonReader(const FieldNames& names) : names_(names) {}

  Record read(std::string_view line, const LinePlace& place) const override {
    const json object = parse(line, place);
    Record out;
    if (auto text = text_of(object, names_.text, place)) {
      out.text = std::move(*text);
    } else if (is_conversation(object)) {
      check_beside_answers(object, place);
      return conversation_of(line, place);
    } else if (given(object, names_.prompt) && given(object, names_.completion)) {
      check_beside_answers(object, place);
      return completion_of(object, place);
    } else if (given(object, names_.words)) {
      return words_of(object, place);
    } else if (given(object, "input_ids")) {
      return tokens_of(line, object, place);
    } else {
      place.refuse("has no " + yaml::excerpt(names_.text) + fields_of(object));
    }
    for (const auto& [key, value] : object.items())
      if (!value.is_null() && key != names_.label && key != names_.pair && key != names_.target &&
          key != names_.text && data::labelled::may_mean_target(key))
        out.unread = key;
    out.pair = text_of(object, names_.pair, place);
    if (const auto label = object.find(names_.label); label != object.end() && !label->is_null()) {
      out.label = label_value(*label);
      if (out.label->is_null())
        place.refuse(yaml::excerpt(names_.label) +
                     " is neither a number, nor a list of numbers, nor the name of a class");
    }
    if (!out.pair && !out.label) out.target = text_of(object, names_.target, place);
    return out;
  }

 private:
  static bool given(const json& object, const std::string& name) {
    const auto found = object.find(name);
    return found != object.end() && !found->is_null();
  }
  static Record tokens_of(std::string_view line, const json& object, const LinePlace& place) {
    Record out;
    out.tokens.emplace();
    out.label = numbers_of(object);
    data::labelled::WantedFields wanted = data::labelled::all_fields();
    for (const FieldName name : {FieldName::label, FieldName::labels})
      wanted[static_cast<std::size_t>(name)] = !out.label;
    data::labelled::make_json_parser(wanted)->parse(line, place, *out.tokens);
    data::SourceOptions any_length;
    any_length.sequence_length = std::int64_t{1} << 31;
    data::labelled::LineRules(any_length, false).settle(*out.tokens, place);
    return out;
  }
  /// Numbers of a sample, beside its tokens: its label or labels, unless it is a class, or a list
  /// of integers for each token.
  static std::optional<json> numbers_of(const json& object) {
    const bool one = given(object, "label");
    if (one == given(object, "labels")) return std::nullopt;
    const json& label = object[one ? "label" : "labels"];
    const auto is_whole = [](const json& x) { return x.is_number_integer(); };
    if (label.is_number()) return is_whole(label) ? std::nullopt : std::optional(label);
    if (!is_list_of_numbers(label)) return std::nullopt;
    const bool of_tokens = !one && std::ranges::all_of(label, is_whole) &&
                           label.size() == object["input_ids"].size();
    return of_tokens ? std::nullopt : std::optional(label);
  }
  Record completion_of(const json& object, const LinePlace& place) const {
    if (names_.prompt == "instruction") check_whole_question(object, place);
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
    if (!given(object, names_.tags)) refuse_words_alone(names_, place);
    Record out;
    out.words = tagged_words(object[names_.words], object[names_.tags], names_, place);
    return out;
  }
  bool is_conversation(const json& object) const {
    if (given(object, names_.messages)) return true;
    if (given(object, names_.prompt) && given(object, names_.completion))
      return object[names_.prompt].is_array() && object[names_.completion].is_array();
    return given(object, "conversations") || is_alpaca(object);
  }
  /// Fields by which other tools learn other parts of a sample, or unlearn it.
  void check_beside_answers(const json& object, const LinePlace& place) const {
    for (const auto& [name, value] : object.items()) {
      if (value.is_null() || (value.is_number() && value == 1)) continue;
      if (const std::string remedy = data::labelled::remedy_beside_answers(name); !remedy.empty())
        place.refuse("has " + yaml::excerpt(name) +
                     " beside its answers, which is not read: " + remedy);
      if (name == names_.label && value.is_boolean())
        place.refuse("has " + yaml::excerpt(name) + ": " + (value.get<bool>() ? "true" : "false") +
                     ", as answers that are wanted or not have; trainx learns every answer: take "
                     "out the lines of false, and remove it");
    }
  }
  /// Once more with its keys in order, as templates write them.
  Record conversation_of(std::string_view line, const LinePlace& place) const {
    const auto ordered = nlohmann::ordered_json::parse(line);
    const auto has = [&](const std::string& name) {
      return ordered.contains(name) && !ordered[name].is_null();
    };
    nlohmann::ordered_json out;
    if (has(names_.messages))
      out["messages"] = is_sharegpt(ordered[names_.messages])
                            ? sharegpt_messages(ordered, names_.messages, place)
                            : ordered[names_.messages];
    else if (has(names_.prompt) && has(names_.completion))
      out = {{"prompt", ordered[names_.prompt]}, {"completion", ordered[names_.completion]}};
    else
      out["messages"] = has("conversations") ? sharegpt_messages(ordered, "conversations", place)
                                             : alpaca_messages(ordered, place);
    for (const char* name : {"tools", "chat_template_kwargs"})
      if (has(name)) out[name] = ordered[name];
    Record record;
    record.conversation = std::move(out);
    return record;
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
    const bool answers = object.contains("prompt") && object.contains("response");
    return "; its fields are " + names + ": " +
           (answers ? "name those of a question and its answer with --prompt and --completion"
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

}  // namespace

std::unique_ptr<RecordReader> make_json_reader(const FieldNames& names) {
  return std::make_unique<JsonReader>(names);
}

}  // namespace trainx::corpus
