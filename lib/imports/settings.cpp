#include "imports/settings.hpp"
#include "core/error.hpp"
#include "core/number.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace trainx::imports {
namespace {

using yaml::Node;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  return text;
}

const Node& no_map() {
  static const Node none = [] {
    Node node;
    node.kind = Node::Kind::map;
    return node;
  }();
  return none;
}

}  // namespace

std::string shown(const Node& node) {
  if (node.kind == Node::Kind::null) return "null";
  if (!node.is_scalar())
    return node.is_map() ? "a map" : node.items.empty() ? "an empty list" : "a list";
  return node.quoted || !yaml::excerpt(node.text).starts_with("'" + node.text + "'")
             ? yaml::excerpt(node.text)
             : node.text;
}

std::string shown_with_items(const Node& node) {
  constexpr std::size_t most = 4;
  const bool is_short = node.kind == Node::Kind::sequence && !node.items.empty() &&
                        node.items.size() <= most;
  if (!is_short || !std::ranges::all_of(node.items, &Node::is_scalar)) return shown(node);
  std::string items;
  for (const Node& item : node.items) items += (items.empty() ? "[" : ", ") + shown(item);
  return items + "]";
}

std::string plain_text(const Node& node) {
  return node.kind == Node::Kind::null ? "null" : node.is_scalar() ? node.text : "";
}

bool is_default(const Node& node, std::string_view defaults) {
  if (node.kind == Node::Kind::null || defaults == "*") return true;
  if (node.is_map()) return node.entries.empty();
  if (node.kind == Node::Kind::sequence && node.items.empty()) return true;
  if (!node.is_scalar() || node.text.empty()) return node.is_scalar();
  if (defaults.empty()) return false;
  const auto number = parse_decimal(node.text);
  for (std::size_t begin = 0; begin <= defaults.size();) {
    const std::size_t end = std::min(defaults.find('|', begin), defaults.size());
    const std::string_view one = defaults.substr(begin, end - begin);
    if (lower(node.text) == lower(std::string(one))) return true;
    if (number && parse_decimal(one) == number) return true;
    begin = end + 1;
  }
  return false;
}

std::string Settings::path(std::string_view key) const {
  constexpr std::string_view usual =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const bool plain = !key.empty() && key.size() <= 60 &&
                     key.find_first_not_of(usual) == std::string_view::npos;
  return (prefix_.empty() ? "" : prefix_ + ".") + (plain ? std::string(key) : yaml::excerpt(key));
}

bool Settings::has(std::string_view key) const {
  const yaml::Entry* entry = map_.find(key);
  return entry && entry->value.kind != Node::Kind::null;
}

yaml::Location Settings::where(std::string_view key) const {
  const yaml::Entry* entry = map_.find(key);
  return entry ? entry->where : map_.where;
}

const Node* Settings::take(std::string_view key) {
  taken_.emplace(key);
  const yaml::Entry* entry = map_.find(key);
  if (!entry || entry->value.kind == Node::Kind::null) return nullptr;
  if (!entry->value.is_scalar() || entry->value.text != "auto") return &entry->value;
  if (!draft_.has_training_arguments)
    leave(key, "transformers fills it in from its TrainingArguments: give that file too");
  return nullptr;
}

void Settings::refuse(std::string_view key, const std::string& sentence) const {
  throw UserError(ExitCode::bad_data,
                  yaml::to_string(where(key)) + ": " + path(key) + ": " + sentence);
}

std::optional<double> Settings::number(std::string_view key) {
  const Node* node = take(key);
  if (!node) return std::nullopt;
  const auto x = node->is_scalar() ? parse_decimal(node->text) : std::nullopt;
  if (!x) refuse(key, "must be a number, not " + shown(*node));
  return x;
}

std::optional<std::int64_t> Settings::whole(std::string_view key) {
  const auto x = number(key);
  constexpr double largest = 1e15;
  if (x && (*x != std::floor(*x) || std::abs(*x) > largest))
    refuse(key, "must be a whole number, not " + shown(*take(key)));
  return x ? std::optional(static_cast<std::int64_t>(*x)) : std::nullopt;
}

std::optional<bool> Settings::flag(std::string_view key) {
  const Node* node = take(key);
  if (!node) return std::nullopt;
  const std::string word = node->is_scalar() ? lower(node->text) : "";
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  refuse(key, "must be true or false, not " + shown(*node));
}

std::optional<std::string> Settings::text(std::string_view key) {
  const Node* node = take(key);
  if (!node) return std::nullopt;
  if (!node->is_scalar()) refuse(key, "must be text, not " + shown(*node));
  return node->text;
}

std::string Settings::word(std::string_view key) {
  taken_.emplace(key);
  const yaml::Entry* entry = map_.find(key);
  if (!entry || entry->value.kind == Node::Kind::null) return "";
  if (!entry->value.is_scalar()) refuse(key, "must be a single value, not " + shown(entry->value));
  return lower(entry->value.text);
}

std::vector<std::string> Settings::words(std::string_view key) {
  const Node* node = take(key);
  std::vector<std::string> out;
  if (!node) return out;
  if (node->is_map()) refuse(key, "must be words, not " + shown(*node));
  if (node->kind == Node::Kind::sequence) {
    for (const Node& item : node->items) out.push_back(lower(plain_text(item)));
    return out;
  }
  std::string one;
  for (const char c : lower(node->text) + " ") {
    if (c != ' ' && c != ',')
      one += c;
    else if (!one.empty())
      out.push_back(std::exchange(one, ""));
  }
  return out;
}

Settings Settings::section(std::string_view key) {
  const Node* node = take(key);
  if (node && !node->is_map()) refuse(key, "must be a map, not " + shown(*node));
  return {node ? *node : no_map(), draft_, path(key)};
}

void Settings::set(const std::string& recipe_key, std::string yaml, std::string_view key,
                   std::string_view defaults) {
  const yaml::Entry* entry = map_.find(key);
  const bool said = entry && !(!defaults.empty() && is_default(entry->value, defaults));
  const std::string origin = path(key) + (entry ? "" : ", by default");
  draft_.set(recipe_key,
             {std::move(yaml), where(key), origin, said ? Weight::said : Weight::assumed});
}

void Settings::assume(const std::string& recipe_key, std::string yaml, const std::string& why) {
  draft_.set(recipe_key, {std::move(yaml), {map_.where.file}, why, Weight::assumed});
}

void Settings::leave(std::string_view key, const std::string& why, bool differs) {
  taken_.emplace(key);
  const yaml::Entry* entry = map_.find(key);
  draft_.leave({where(key), path(key), entry ? shown_with_items(entry->value) : "", why, differs});
}

}  // namespace trainx::imports
