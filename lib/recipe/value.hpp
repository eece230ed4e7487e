// How each type of field is written in YAML: reading with a sentence when it is wrong, writing, and
// its name in help. A new field type is added here.
#pragma once
#include "core/number.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "recipe/all_or.hpp"
#include "options/data/file_list.hpp"
#include "options/data/held_out.hpp"
#include "options/field.hpp"
#include "options/name_list.hpp"
#include "options/numbers_by_name.hpp"
#include "options/tokens_by_name.hpp"
#include "yaml/node.hpp"
#include "yaml/scalar.hpp"
#include <cstdint>
#include <type_traits>

namespace trainx::recipe {

using options::Limits;
/// What is wrong with a value, completing "key: ..."; nothing where it was read.
using ValueProblem = std::optional<std::string>;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  enum_names(E{});
};

ValueProblem read_value(const yaml::Node& node, bool& value, const Limits& limits);
ValueProblem read_value(const yaml::Node& node, std::int64_t& value, const Limits& limits);
ValueProblem read_value(const yaml::Node& node, double& value, const Limits& limits);
ValueProblem read_value(const yaml::Node& node, std::string& value, const Limits& limits);
ValueProblem read_value(const yaml::Node& node, Duration& value, const Limits& limits);
ValueProblem read_value(const yaml::Node& node, ByteSize& value, const Limits& limits);
ValueProblem read_value(const yaml::Node& node, std::vector<std::string>& value,
                        const Limits& limits);
/// `limits` hold for each; a single number is a list of one.
ValueProblem read_value(const yaml::Node& node, std::vector<std::int64_t>& value,
                        const Limits& limits);
/// A single name is a list of one.
ValueProblem read_value(const yaml::Node& node, options::FileList& value, const Limits& limits);
/// `1 %` or `500 samples`.
ValueProblem read_value(const yaml::Node& node, options::HeldOut& value, const Limits& limits);
ValueProblem read_value(const yaml::Node& node, options::NameList& value, const Limits& limits);
/// `limits` hold for each number.
ValueProblem read_value(const yaml::Node& node, options::NumbersByName& value,
                        const Limits& limits);
/// `limits` hold for each token.
ValueProblem read_value(const yaml::Node& node, options::TokensByName& value, const Limits& limits);
/// The one of `names` that the node spells.
ValueProblem read_name(const yaml::Node& node, const std::vector<std::string>& names,
                       std::size_t& which);
/// One of the words of the choice.
ValueProblem read_value(const yaml::Node& node, Choice& value, const Limits& limits);
/// For optional fields: `none`, `~` and the like are no way to write null.
ValueProblem check_null_spelling(const yaml::Node& node);

/// Fields without a default: a recipe must give them.
template <class T>
concept Required = std::is_same_v<T, std::string> || std::is_same_v<T, options::FileList>;

template <NamedEnum E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& [value, name] : enum_names(E{})) names.emplace_back(name);
  return names;
}

template <NamedEnum E>
ValueProblem read_value(const yaml::Node& node, E& value, const Limits&) {
  std::size_t which = 0;
  if (auto problem = read_name(node, names_of<E>(), which)) return problem;
  value = enum_names(E{})[which].first;
  return std::nullopt;
}

/// A single name is a list of one.
template <NamedEnum E>
ValueProblem read_value(const yaml::Node& node, std::vector<E>& value, const Limits& limits) {
  const bool list = node.kind == yaml::Node::Kind::sequence;
  std::vector<E> read(list ? node.items.size() : 1);
  for (std::size_t i = 0; i < read.size(); ++i)
    if (auto problem = read_value(list ? node.items[i] : node, read[i], limits))
      return (list ? "item " + std::to_string(i + 1) + " " : "") + *problem;
  if (read.empty()) return "must not be an empty list";
  value = std::move(read);
  return std::nullopt;
}

template <class T>
ValueProblem read_value(const yaml::Node& node, std::optional<T>& value, const Limits& limits) {
  const bool spelled = node.kind == yaml::Node::Kind::null ||
                       (node.is_scalar() && node.interpolated && !node.quoted);
  if (spelled && node.text == "null") {
    value.reset();
    return std::nullopt;
  }
  if (auto problem = check_null_spelling(node)) return problem;
  T read{};
  if (auto problem = read_value(node, read, limits)) return problem;
  value = std::move(read);
  return std::nullopt;
}

template <class T>
ValueProblem read_value(const yaml::Node& node, options::Auto<T>& value, const Limits& limits) {
  if (node.is_scalar() && node.text == "auto" && (!node.quoted || node.interpolated)) {
    value.value.reset();
    return std::nullopt;
  }
  T read{};
  if constexpr (NamedEnum<T>) {
    auto names = names_of<T>();
    names.insert(names.begin(), "auto");
    std::size_t which = 0;
    if (auto problem = read_name(node, names, which)) return problem;
    if (which == 0) return "must be auto without quotes";
    read = enum_names(T{})[which - 1].first;
  } else if (auto problem = read_value(node, read, limits)) {
    return *problem + (node.is_scalar() ? "; auto lets trainx pick" : "");
  }
  value.value = std::move(read);
  return std::nullopt;
}

template <class T>
ValueProblem read_value(const yaml::Node& node, AllOr<T>& value, const Limits& limits) {
  if (node.is_scalar() && node.text == "all" && (!node.quoted || node.interpolated)) {
    value.value.reset();
    return std::nullopt;
  }
  T read{};
  if (auto problem = read_value(node, read, limits))
    return *problem + (node.is_scalar() ? ", or all" : "");
  value.value = std::move(read);
  return std::nullopt;
}

/// As YAML that reads back as the same value.
inline std::string write_value(bool value) { return value ? "true" : "false"; }
inline std::string write_value(std::int64_t value) { return std::to_string(value); }
inline std::string write_value(double value) { return shortest(value); }
std::string write_value(const std::string& value);
inline std::string write_value(const Duration& value) { return to_string(value); }
inline std::string write_value(const ByteSize& value) { return to_string(value); }
std::string write_value(const std::vector<std::string>& value);
std::string write_value(const std::vector<std::int64_t>& value);

std::string write_value(const options::FileList& value);
std::string write_value(const options::HeldOut& value);
std::string write_value(const options::NameList& value);
std::string write_value(const options::NumbersByName& value);
std::string write_value(const options::TokensByName& value);
inline std::string write_value(const Choice& value) { return write_value(value.word); }
template <NamedEnum E>
std::string write_value(E value) {
  for (const auto& [candidate, name] : enum_names(value))
    if (candidate == value) return std::string(name);
  return "?";
}
template <NamedEnum E>
std::string write_value(const std::vector<E>& values) {
  if (values.size() == 1) return write_value(values.front());
  std::string text;
  for (const E value : values) text += (text.empty() ? "[" : ", ") + write_value(value);
  return text + "]";
}
template <class T>
std::string write_value(const std::optional<T>& value) {
  return value ? write_value(*value) : "null";
}
template <class T>
std::string write_value(const options::Auto<T>& value) {
  return value.is_auto() ? "auto" : write_value(*value.value);
}
template <class T>
std::string write_value(const AllOr<T>& value) {
  return value.is_all() ? "all" : write_value(*value.value);
}

/// What may be written, for help: "integer", "fp32 | bf16", "size or auto".
inline std::string type_text(bool) { return "true | false"; }
inline std::string type_text(std::int64_t) { return "integer"; }
inline std::string type_text(double) { return "number"; }
inline std::string type_text(const std::string&) { return "text"; }
inline std::string type_text(const Duration&) { return "duration"; }
inline std::string type_text(const ByteSize&) { return "size"; }
inline std::string type_text(const std::vector<std::string>&) { return "list of text"; }
inline std::string type_text(const std::vector<std::int64_t>&) { return "list of integers"; }
inline std::string type_text(const options::FileList&) { return "path | glob | list of these"; }
inline std::string type_text(const options::HeldOut&) {
  return "share (`1 %`) | number of samples (`500 samples`)";
}
inline std::string type_text(const options::NameList&) { return "name | list of names"; }
inline std::string type_text(const options::NumbersByName&) { return "map of names to numbers"; }
inline std::string type_text(const options::TokensByName&) {
  return "list of integers | map of names to such lists";
}
std::string joined(const std::vector<std::string>& words, const std::string& separator);
inline std::string type_text(const Choice& value) { return joined(value.words, " | "); }

template <NamedEnum E>
std::string type_text(E) {
  return joined(names_of<E>(), " | ");
}
template <NamedEnum E>
std::string type_text(const std::vector<E>&) {
  return type_text(E{}) + " | list of these";
}
template <class T>
std::string type_text(const std::optional<T>&) {
  return type_text(T{}) + " | null";
}
template <class T>
std::string type_text(const options::Auto<T>&) {
  return type_text(T{}) + " | auto";
}
template <class T>
std::string type_text(const AllOr<T>&) {
  return type_text(T{}) + " | all";
}

/// What may be written by name: of an enumeration all there is, of a number that trainx may pick
/// `auto`.
using Words = std::vector<std::string>;
inline Words value_words(bool) { return {"true", "false"}; }
inline Words value_words(std::int64_t) { return {}; }
inline Words value_words(double) { return {}; }
inline Words value_words(const std::string&) { return {}; }
inline Words value_words(const Duration&) { return {}; }
inline Words value_words(const ByteSize&) { return {}; }
inline Words value_words(const options::FileList&) { return {}; }
inline Words value_words(const options::HeldOut&) { return {}; }
inline Words value_words(const options::NameList&) { return {}; }
inline Words value_words(const options::NumbersByName&) { return {}; }
inline Words value_words(const options::TokensByName&) { return {}; }
inline Words value_words(const Choice& value) { return value.words; }
template <NamedEnum E>
Words value_words(E) {
  return names_of<E>();
}
template <class T>
// a single one stands for a list
Words value_words(const std::vector<T>&) {
  return value_words(T{});
}
template <class T>
Words value_words(const std::optional<T>&) {
  Words words = value_words(T{});
  words.emplace_back("null");
  return words;
}
template <class T>
Words value_words(const options::Auto<T>&) {
  Words words = value_words(T{});
  words.emplace_back("auto");
  return words;
}
template <class T>
Words value_words(const AllOr<T>&) {
  Words words = value_words(T{});
  words.emplace_back("all");
  return words;
}

}  // namespace trainx::recipe
