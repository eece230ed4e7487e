// A struct of options with visit_fields, to and from the fields that trainx reads from a recipe:
// of models, optimizers and schedules of the user's own. Free of LibTorch.
#pragma once
#include <trainx/option_field.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace trainx {
namespace detail {

template <class T>
constexpr bool is_option = std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> ||
                           std::is_same_v<T, double> || std::is_same_v<T, std::string> ||
                           std::is_enum_v<T>;

struct DescribeOptions {
  std::vector<OptionField> fields;
  template <class T>
  void operator()(std::string_view key, T& value, const Limits& limits, std::string_view doc) {
    static_assert(
        is_option<T>,
        "an option is bool, std::int64_t, double, std::string or an enum with enum_names()");
    if constexpr (std::is_enum_v<T>) {
      Choice choice;
      for (const auto& [word_value, word] : enum_names(value)) {
        choice.words.emplace_back(word);
        if (word_value == value) choice.word = word;
      }
      fields.push_back({std::string(key), std::move(choice), limits, std::string(doc)});
    } else {
      fields.push_back({std::string(key), value, limits, std::string(doc)});
    }
  }
};

struct ReadOptions {
  const std::vector<OptionField>& fields;
  std::size_t next = 0;  // visit_fields names them in one order
  template <class T>
  void operator()(std::string_view, T& value, const Limits&, std::string_view) {
    const OptionValue& given = fields.at(next++).value;
    if constexpr (std::is_enum_v<T>) {
      for (const auto& [word_value, word] : enum_names(value))
        if (word == std::get<Choice>(given).word) value = word_value;
    } else {
      value = std::get<T>(given);
    }
  }
};

}  // namespace detail

/// No options.
struct NoOptions {};
template <class Visitor>
void visit_fields(Visitor&, NoOptions&) {}

/// The fields of the struct, with its defaults.
template <class Options>
std::vector<OptionField> describe_options() {
  detail::DescribeOptions describe;
  Options defaults;
  visit_fields(describe, defaults);
  return std::move(describe.fields);
}

/// The struct that the fields of describe_options stand for.
template <class Options>
Options read_options(const std::vector<OptionField>& fields) {
  Options options;
  detail::ReadOptions read{fields};
  visit_fields(read, options);
  return options;
}

}  // namespace trainx
