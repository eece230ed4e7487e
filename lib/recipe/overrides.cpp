#include "recipe/overrides.hpp"
#include "recipe/short_forms.hpp"
#include "yaml/read.hpp"

namespace trainx::recipe {
namespace {

using yaml::Node;

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// Whether `key=` starts at `i`.
bool starts_setting(const std::string& text, std::size_t i) {
  const std::size_t start = i;
  while (i < text.size() && is_key_character(text[i])) ++i;
  return i > start && i < text.size() && text[i] == '=';
}

/// The settings have no lines: their place is their source.
void place_at(Node& node, const yaml::Location& where) {
  node.where = where;
  for (Node& item : node.items) place_at(item, where);
  for (yaml::Entry& entry : node.entries) {
    entry.where = where;
    place_at(entry.value, where);
  }
}

bool is_key(const std::string& key) {
  bool word = false;  // a character since the last dot
  for (const char c : key) {
    if (!is_key_character(c) || (c == '.' && !word)) return false;
    word = c != '.';
  }
  return word;
}

}  // namespace

std::vector<std::string> split_settings(const std::string& text) {
  std::vector<std::string> settings;
  std::string current;
  const auto finish = [&] {
    while (!current.empty() &&
           (current.back() == ' ' || current.back() == '\r' || current.back() == '\t'))
      current.pop_back();
    if (!current.empty()) settings.push_back(std::move(current));
    current.clear();
  };
  char quote = 0;
  int brackets = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (c == '\n' || (blank && !quote && brackets == 0 && starts_setting(text, i + 1))) {
      finish();
      quote = 0;
      brackets = 0;
      continue;
    }
    if (blank && current.empty()) continue;
    if (quote)
      quote = c == quote ? 0 : quote;
    else if ((c == '"' || c == '\'') && !current.empty() &&
             std::string_view("=[{, :").find(current.back()) != std::string_view::npos)
      quote = c;
    else if (c == '[' || c == '{')
      ++brackets;
    else if ((c == ']' || c == '}') && brackets > 0)
      --brackets;
    current += c;
  }
  finish();
  return settings;
}

Node read_settings(const std::vector<std::string>& settings, const std::string& source,
                   yaml::Problems& problems) {
  const yaml::Location where{source, 0, 0};
  Node root;
  root.kind = Node::Kind::map;
  root.where = where;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    if (equals == std::string::npos || !is_key(key)) {
      problems.add(
          where, "",
          yaml::excerpt(setting) + " is no setting: write key=value, e.g. optimizer.lr=3e-4");
      continue;
    }
    std::string value = setting.substr(equals + 1);
    yaml::Problems found;
    yaml::Document document = yaml::read_document(value, source, found);
    if (!found.empty()) {
      problems.add(where, key,
                   yaml::excerpt(value) +
                       " is no YAML value: put it in double quotes inside single ones, e.g. '" +
                       key + "=\"...\"'");
      continue;
    }
    Node node = std::move(document.root);
    place_at(node, where);
    // Its maps, from the inside out.
    for (std::size_t end = key.size(); end != std::string::npos && end > 0;) {
      const std::size_t dot = key.rfind('.', end - 1);
      const std::size_t start = dot == std::string::npos ? 0 : dot + 1;
      Node outer;
      outer.kind = Node::Kind::map;
      outer.where = where;
      outer.entries.push_back({key.substr(start, end - start), where, std::move(node)});
      node = std::move(outer);
      end = dot;
    }
    expand_short_forms(node);
    merge(root, node);
  }
  return root;
}

}  // namespace trainx::recipe
