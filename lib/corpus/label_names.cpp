#include "corpus/label_names.hpp"
#include "core/error.hpp"
#include "core/number.hpp"
#include "core/suggest.hpp"
#include "data/files/about_file.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::corpus {
namespace {

using data::labelled::LinePlace;

constexpr std::size_t most_names = 10'000;

[[noreturn]] void usage(const std::string& what) {
  throw UserError(ExitCode::usage, "--label-names: " + what);
}

/// Label of a record, as its one name; null: it is none.
const std::string* name_in(const Record& record) {
  return record.label && record.label->is_string() ? &record.label->get_ref<const std::string&>()
                                                   : nullptr;
}

}  // namespace

LabelNames::LabelNames(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].empty()) usage("a name is empty");
    if (!classes_.emplace(names_[i], static_cast<std::int64_t>(i)).second)
      usage(yaml::excerpt(names_[i]) + " is named twice");
  }
}

LabelNames::LabelNames(const std::set<std::string>& names) : names_(names.begin(), names.end()) {
  if (names_.size() > most_names)
    throw UserError(ExitCode::bad_data,
                    "the labels have " + std::to_string(names_.size()) +
                        " names, too many for classes: name the field of the class with --label");
  const auto is_number = [](const std::string& name) { return parse_integer(name).has_value(); };
  if (std::ranges::all_of(names_, is_number))
    std::ranges::sort(names_, {}, [](const std::string& name) { return *parse_integer(name); });
  for (std::size_t i = 0; i < names_.size(); ++i)
    classes_.emplace(names_[i], static_cast<std::int64_t>(i));
}

std::int64_t LabelNames::class_of(const std::string& name, const std::string& field,
                                  const LinePlace& place) const {
  if (const auto found = classes_.find(name); found != classes_.end()) return found->second;
  if (empty())
    place.refuse(yaml::excerpt(field) + " is the name " + yaml::excerpt(name) +
                 ", and lines before have numbers or nothing names the classes: --label-names "
                 "NAME,NAME,... does, in their order");
  place.refuse(yaml::excerpt(field) + " is " + yaml::excerpt(name) +
               ", which is none of the classes' names" + did_you_mean(name, names_));
}

void LabelNames::replace(Record& record, const FieldNames& fields, const LinePlace& place) const {
  if (const std::string* name = name_in(record))
    record.label = class_of(*name, fields.label, place);
  else if (record.label && !empty())
    place.refuse(yaml::excerpt(fields.label) + " is " + yaml::excerpt(record.label->dump()) +
                 ", where other lines have names of classes: give names in all lines or in none");
  if (!record.words) return;
  TaggedWords& words = *record.words;
  if (words.tag_names.empty() && !empty() && !words.tags.empty())
    place.refuse(yaml::excerpt(fields.tags) +
                 " has numbers, where other lines have names: give names in all lines or in none");
  for (const std::string& name : words.tag_names)
    words.tags.push_back(class_of(name, fields.tags, place));
  words.tag_names.clear();
}

void collect_names(const Record& record, std::set<std::string>& names) {
  if (const std::string* name = name_in(record)) names.insert(*name);
  if (record.words) names.insert(record.words->tag_names.begin(), record.words->tag_names.end());
}

LabelNames named_labels(const std::string& given) {
  std::error_code error;
  if (std::filesystem::is_regular_file(given, error)) {
    std::vector<std::string> names = data::read_about(given).label_names;
    if (names.empty())
      usage(given + ".json, which `trainx data tokenize` writes beside a file, names no classes");
    return LabelNames(std::move(names));
  }
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= given.size();) {
    const std::size_t end = std::min(given.find(',', at), given.size());
    names.push_back(given.substr(at, end - at));
    at = end + 1;
  }
  return LabelNames(std::move(names));
}

}  // namespace trainx::corpus
