#include "corpus/tagged_words.hpp"
#include "data/labelled/whole_number.hpp"
#include "data/source.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <limits>

namespace trainx::corpus {

using data::labelled::LinePlace;
using nlohmann::json;

bool is_list_of_numbers(const json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, &json::is_number);
}

json label_value(const json& label) {
  if (label.is_string()) return label.get_ref<const std::string&>().empty() ? json() : label;
  if (label.is_number_float()) {
    const auto whole = data::labelled::whole_number(label.get<double>());
    return whole ? json(*whole) : label;
  }
  if (label.is_number()) return label;
  return is_list_of_numbers(label) ? label : json();
}

std::string TaggedWords::text() const {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

void refuse_words_alone(const FieldNames& names, const LinePlace& place) {
  place.refuse("has " + yaml::excerpt(names.words) + " and no " + yaml::excerpt(names.tags) +
               ": name the field with a class for each word with --tags");
}

TaggedWords tagged_words(const json& words, const json& tags, const FieldNames& names,
                         const LinePlace& place) {
  constexpr std::int64_t most_tag = std::numeric_limits<std::int32_t>::max();
  if (!words.is_array() || words.empty() || !std::ranges::all_of(words, &json::is_string))
    place.refuse(yaml::excerpt(names.words) + " is no list of words");
  if (!tags.is_array() || tags.size() != words.size())
    place.refuse(yaml::excerpt(names.tags) + " is no list of " + std::to_string(words.size()) +
                 " classes, one for each word");
  TaggedWords out;
  if (std::ranges::all_of(tags, &json::is_string)) {
    out.words = words.get<std::vector<std::string>>();
    out.tag_names = tags.get<std::vector<std::string>>();
    return out;
  }
  for (const json& word : words) out.words.push_back(word.get<std::string>());
  for (const json& tag : tags) {
    const auto is_class = [&] {
      const auto id = tag.get<std::int64_t>();
      return id == data::no_target || (id >= 0 && id <= most_tag);
    };
    if (!tag.is_number_integer() || !is_class())
      place.refuse(yaml::excerpt(names.tags) + " has " + yaml::excerpt(tag.dump()) +
                   "; tags are names, or classes 0, 1, 2, ... with -100 for a word without one");
    out.tags.push_back(tag.get<std::int64_t>());
  }
  return out;
}

}  // namespace trainx::corpus
