#include "imports/write.hpp"
#include "core/error.hpp"
#include "recipe/schema.hpp"
#include <algorithm>
#include <set>
#include <utility>

namespace trainx::imports {
namespace {

constexpr std::size_t comment_column = 40;

std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    parts.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string with_comment(std::string line, const std::string& text) {
  if (text.empty()) return line + "\n";
  return line + std::string(line.size() < comment_column ? comment_column - line.size() : 0, ' ') +
         "  # " + comment(text) + "\n";
}

}  // namespace

std::string comment(const std::string& text) {
  std::string out = text;
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return out;
}

std::string write_recipe(const Draft& draft, const std::string& heading) {
  std::string out = "# " + comment(heading) + "\n";
  if (const Value* adapter = draft.find("model.adapter.type"))
    out += "# It trains an adapter (" + comment(adapter->origin) +
           "), model.adapter.type: " + adapter->text + ", and not the model's own weights.\n";
  const auto leftovers = draft.leftovers();
  for (const bool differs : {true, false}) {
    bool is_first = true;
    for (const Leftover& leftover : leftovers) {
      if (leftover.differs != differs) continue;
      if (std::exchange(is_first, false))
        out += differs ? "# NOT MAPPED, so that training differs:\n" : "# Not mapped:\n";
      out += "#   " + comment(to_string(leftover)) + "\n";
    }
  }
  if (!draft.asked().empty())
    out += "# The files do not say the keys without a value; `trainx validate` names them.\n";

  std::set<std::string> written;
  std::vector<std::string> open;  // the maps that the line before stands in
  for (const recipe::FieldHelp& field : recipe::schema_keys()) {
    const Value* value = draft.find(field.key);
    const auto asked = draft.asked().find(field.key);
    if ((!value && asked == draft.asked().end()) || !written.insert(field.key).second) continue;
    auto maps = split_key(field.key);
    const std::string name = maps.back();
    maps.pop_back();
    for (std::size_t depth = 0; depth < maps.size(); ++depth) {
      if (depth < open.size() && open[depth] == maps[depth]) continue;
      open.resize(depth);
      out += (depth == 0 ? "\n" : std::string(2 * depth, ' ')) + maps[depth] + ":\n";
      open.push_back(maps[depth]);
    }
    open = maps;
    const std::string line = std::string(2 * maps.size(), ' ') + name + ":";
    if (!value) {
      out += with_comment(line, asked->second);
      continue;
    }
    const auto remark = draft.remarks().find(field.key);
    out += with_comment(
        line + " " + value->text,
        value->origin + (remark == draft.remarks().end() ? "" : ": " + remark->second));
  }
  for (const auto& [key, value] : draft.values())
    if (key.find('.') != std::string::npos && !written.contains(key))
      throw InternalError("write_recipe: recipes have no key " + key);
  return out;
}

}  // namespace trainx::imports
