#include "recipe/value.hpp"
#include "recipe/synonyms.hpp"
#include <algorithm>
#include <array>

namespace trainx::recipe {
namespace {

using yaml::excerpt;

/// For kinds that no scalar field takes, and strings where a number or the like is meant.
ValueProblem check_scalar(const yaml::Node& node, const std::string& wanted, bool quotes_allowed) {
  if (node.kind == yaml::Node::Kind::null)
    return node.text.empty() ? "has no value: give it " + wanted + ", or remove the key"
                             : "must be " + wanted + ", not " + node.text;
  if (!node.is_scalar()) return "must be " + wanted + ", not " + std::string(kind_name(node));
  if (node.quoted && !quotes_allowed && !node.interpolated)
    return "must be " + wanted + " without quotes, not the text " + excerpt(node.text);
  return std::nullopt;
}

std::string ask(const std::string& suggestion) { return " (did you mean '" + suggestion + "'?)"; }

std::string meant(const std::string& word, const std::vector<std::string>& names) {
  const auto name = name_meant(word, names);
  return name ? ask(*name) : "";
}

/// The number that was probably meant: 010, +5, 1_000, 1,5, .5, 5.
std::optional<double> number_meant(std::string text) {
  std::erase(text, '_');
  if (std::count(text.begin(), text.end(), ',') == 1 && text.find('.') == std::string::npos)
    std::replace(text.begin(), text.end(), ',', '.');
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  while (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') text.erase(0, 1);
  if (text.starts_with('.')) text.insert(0, 1, '0');
  if (text.ends_with('.')) text.pop_back();
  const auto x = parse_decimal(text);
  return x && negative ? -*x : x;
}

template <class T>
ValueProblem check_limits(T x, const std::string& text, const Limits& limits) {
  if (limits.contains(static_cast<double>(x))) return std::nullopt;
  return "must be " + (limits.says.empty() ? "a finite number" : limits.says) + ", not " + text;
}

bool is_json_number_but_large(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789-") == std::string::npos &&
         text.size() > 18;
}

template <class T>
ValueProblem read_items(const yaml::Node& node, std::vector<T>& value, const Limits& limits) {
  if (node.kind != yaml::Node::Kind::sequence)
    return "must be a list, not " + std::string(kind_name(node));
  std::vector<T> read(node.items.size());
  for (std::size_t i = 0; i < read.size(); ++i)
    if (auto problem = read_value(node.items[i], read[i], limits))
      return "item " + std::to_string(i + 1) + " " + *problem;
  value = std::move(read);
  return std::nullopt;
}

}  // namespace

ValueProblem read_value(const yaml::Node& node, bool& value, const Limits&) {
  if (auto problem = check_scalar(node, "true or false", false)) return problem;
  if (node.text == "true" || node.text == "false") {
    value = node.text == "true";
    return std::nullopt;
  }
  std::string word = node.text.substr(0, 8);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  static constexpr std::array<std::string_view, 6> yes{"true", "yes", "on", "1", "y", "t"},
      no{"false", "no", "off", "0", "n", "f"};
  std::string near;
  if (std::find(yes.begin(), yes.end(), word) != yes.end())
    near = ask("true");
  else if (std::find(no.begin(), no.end(), word) != no.end())
    near = ask("false");
  else
    near = did_you_mean(node.text, {"true", "false"});
  return "must be true or false, not " + excerpt(node.text) + near;
}

ValueProblem read_value(const yaml::Node& node, std::int64_t& value, const Limits& limits) {
  if (auto problem = check_scalar(node, "a whole number", false)) return problem;
  const auto n = parse_integer(node.text);
  if (!n) {
    if (is_json_number_but_large(node.text)) return "is too large a number: " + excerpt(node.text);
    const auto meant = number_meant(node.text);
    const bool whole = meant && std::abs(*meant) < 9e15 && *meant == std::floor(*meant);
    return "must be a whole number, not " + excerpt(node.text) +
           (whole ? ask(std::to_string(static_cast<std::int64_t>(*meant))) : "");
  }
  if (auto problem = check_limits(*n, node.text, limits)) return problem;
  value = *n;
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, double& value, const Limits& limits) {
  if (auto problem = check_scalar(node, "a number", false)) return problem;
  const auto x = parse_decimal(node.text);
  if (!x) {
    const auto meant = number_meant(node.text);
    return "must be a finite number, not " + excerpt(node.text) +
           (meant ? ask(shortest(*meant)) : "");
  }
  if (auto problem = check_limits(*x, node.text, limits)) return problem;
  value = *x == 0 ? 0 : *x;  // -0 is 0
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, std::string& value, const Limits&) {
  if (auto problem = check_scalar(node, "text", true)) return problem;
  if (!node.quoted && !node.interpolated && !yaml::reads_as_text(node.text)) {
    return "must be text, but " + excerpt(node.text) +
           " reads as a number or a boolean: put it in quotes";
  }
  if (node.text.find('\0') != std::string::npos) return "must not hold a NUL byte";
  value = node.text;
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, Duration& value, const Limits&) {
  if (auto problem = check_scalar(node, "a duration such as '2000 steps'", true)) return problem;
  std::string problem;
  const auto read = parse_duration(node.text, problem);
  if (!read) return problem;
  value = *read;
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, ByteSize& value, const Limits&) {
  if (auto problem = check_scalar(node, "a size such as '512 MiB'", true)) return problem;
  std::string problem;
  const auto read = parse_byte_size(node.text, problem);
  if (!read) return problem;
  value = *read;
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, std::vector<std::string>& value,
                        const Limits& limits) {
  if (node.is_scalar())
    return "must be a list, not a value" + ask("[" + node.text.substr(0, 60) + "]");
  return read_items(node, value, limits);
}

ValueProblem read_value(const yaml::Node& node, std::vector<std::int64_t>& value,
                        const Limits& limits) {
  if (!node.is_scalar()) return read_items(node, value, limits);
  std::int64_t single = 0;
  if (auto problem = read_value(node, single, limits)) return problem;
  value = {single};
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, options::FileList& value, const Limits& limits) {
  if (node.kind != yaml::Node::Kind::sequence) {
    std::string single;
    if (auto problem = read_value(node, single, limits)) return problem;
    value = options::FileList(std::move(single));
    return std::nullopt;
  }
  std::vector<std::string> names;
  if (auto problem = read_items(node, names, limits)) return problem;
  if (names.empty()) return "must not be an empty list";
  if (const auto empty = std::ranges::find(names, ""); empty != names.end())
    return "item " + std::to_string(empty - names.begin() + 1) + " must not be empty";
  value = options::FileList(std::move(names));
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, options::NameList& value, const Limits& limits) {
  const bool list = node.kind == yaml::Node::Kind::sequence;
  std::vector<std::string> names(1);
  if (auto problem = list ? read_items(node, names, limits)
                          : read_value(node, names.front(), limits))
    return problem;
  if (names.empty()) return "must not be an empty list";
  if (const auto empty = std::ranges::find(names, ""); empty != names.end())
    return list ? "item " + std::to_string(empty - names.begin() + 1) + " must not be empty"
                : "must not be empty";
  value = list ? options::NameList(std::move(names)) : options::NameList(std::move(names.front()));
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, options::NumbersByName& value,
                        const Limits& limits) {
  if (!node.is_map())
    return "must be a map of names to numbers, not " + std::string(kind_name(node));
  if (node.entries.empty()) return "must not be an empty map";
  options::NumbersByName read;
  for (const yaml::Entry& entry : node.entries) {
    double number = 0;
    if (auto problem = read_value(entry.value, number, limits))
      return "at " + excerpt(entry.key) + " " + *problem;
    read.entries.emplace_back(entry.key, number);
  }
  value = std::move(read);
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, options::TokensByName& value,
                        const Limits& limits) {
  options::TokensByName read{.is_list = !node.is_map(), .entries = {}};
  const auto take = [&](const std::string& name, const yaml::Node& list) -> ValueProblem {
    std::vector<std::int64_t> tokens;
    if (auto problem = read_value(list, tokens, limits)) return problem;
    if (tokens.empty()) return "must not be an empty list";
    read.entries.emplace_back(name, std::move(tokens));
    return std::nullopt;
  };
  if (read.is_list) {
    if (auto problem = take("", node)) return problem;
  } else if (node.entries.empty()) {
    return "must not be an empty map";
  }
  for (const yaml::Entry& entry : node.entries)
    if (auto problem = take(entry.key, entry.value))
      return "at " + excerpt(entry.key) + " " + *problem;
  value = std::move(read);
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, options::HeldOut& value, const Limits&) {
  const std::string wanted = "a share such as '1 %' or a number such as '500 samples'";
  if (auto problem = check_scalar(node, wanted, true)) return problem;
  const std::size_t digits =
      std::min(node.text.find_first_not_of("0123456789.eE+-"), node.text.size());
  const std::string amount = node.text.substr(0, digits);
  std::string unit = node.text.substr(digits);
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  unit.erase(unit.find_last_not_of(' ') + 1);
  const auto share = parse_decimal(amount);
  if (unit == "%" && share) {
    if (!(*share > 0 && *share < 100))
      return "must be more than 0 % and less than 100 %, not " + excerpt(node.text);
    value = {*share, 0};
    return std::nullopt;
  }
  const auto count = parse_integer(amount);
  if ((unit == "samples" || unit == "sample") && count) {
    if (*count < 1) return "must be at least 1 sample, not " + excerpt(node.text);
    value = {0, *count};
    return std::nullopt;
  }
  const bool bare = unit.empty() && share && *share > 0;
  const std::string meant = !bare        ? ""
                            : *share < 1 ? shortest(*share * 100) + " %"
                            : count      ? amount + " samples"
                                         : "";
  return "must be " + wanted + ", not " + excerpt(node.text) + (meant.empty() ? "" : ask(meant));
}

ValueProblem read_name(const yaml::Node& node, const std::vector<std::string>& names,
                       std::size_t& which) {
  const std::string wanted = names.size() == 1 ? "'" + names[0] + "'"
                                               : "one of " + joined(names, ", ");
  if (auto problem = check_scalar(node, wanted, true)) return problem;
  const auto found = std::find(names.begin(), names.end(), node.text);
  if (found == names.end())
    return "must be " + wanted + ", not " + excerpt(node.text) + meant(node.text, names);
  which = static_cast<std::size_t>(found - names.begin());
  return std::nullopt;
}

ValueProblem read_value(const yaml::Node& node, Choice& value, const Limits&) {
  std::size_t which = 0;
  if (auto problem = read_name(node, value.words, which)) return problem;
  value.word = value.words[which];
  return std::nullopt;
}

ValueProblem check_null_spelling(const yaml::Node& node) {
  if (node.kind == yaml::Node::Kind::null && !node.text.empty())
    return "is written " + excerpt(node.text) + ask("null");
  if (!node.is_scalar() || node.quoted || node.interpolated) return std::nullopt;
  for (const std::string_view spelling : {"none", "None", "NONE", "nil"})
    if (node.text == spelling) return "has no value " + excerpt(node.text) + ask("null");
  return std::nullopt;
}

std::string write_value(const std::string& value) {
  // "${" is an interpolation when it is read: "$${" is its escape.
  std::string escaped = value;
  for (std::size_t i = escaped.find("${"); i != std::string::npos; i = escaped.find("${", i + 3))
    escaped.insert(i, 1, '$');
  return yaml::write_text(escaped);
}

std::string write_value(const std::vector<std::string>& value) {
  std::vector<std::string> items;
  for (const std::string& item : value) items.push_back(write_value(item));
  return "[" + joined(items, ", ") + "]";
}

std::string write_value(const std::vector<std::int64_t>& value) {
  std::vector<std::string> items;
  for (const std::int64_t item : value) items.push_back(write_value(item));
  return "[" + joined(items, ", ") + "]";
}

std::string write_value(const options::FileList& value) {
  return value.names.size() == 1 ? write_value(value.names.front()) : write_value(value.names);
}

std::string write_value(const options::NameList& value) {
  return value.is_text ? write_value(value.names.front()) : write_value(value.names);
}

std::string write_value(const options::NumbersByName& value) {
  std::vector<std::string> items;
  for (const auto& [name, number] : value.entries)
    items.push_back(write_value(name) + ": " + shortest(number));
  return "{" + joined(items, ", ") + "}";
}

std::string write_value(const options::TokensByName& value) {
  if (value.is_list) return write_value(value.entries.front().second);
  std::vector<std::string> items;
  for (const auto& [name, tokens] : value.entries)
    items.push_back(write_value(name) + ": " + write_value(tokens));
  return "{" + joined(items, ", ") + "}";
}

std::string write_value(const options::HeldOut& value) {
  if (value.samples > 0)
    return std::to_string(value.samples) + (value.samples == 1 ? " sample" : " samples");
  return shortest(value.percent) + " %";
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : separator) + word;
  return out;
}

}  // namespace trainx::recipe
