#include "recipe/key_path.hpp"
#include "recipe/recipe.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <utility>

namespace trainx::recipe {
namespace {

/// Every key in order, as lines of YAML and as pairs.
class Writer {
 public:
  struct Line {
    std::string text, key;
  };  // key: dotted, empty for the line that opens a map
  std::vector<Line> lines;
  std::vector<std::pair<std::string, std::string>> values;

  void begin(std::string_view key) {
    lines.push_back({indent() + std::string(key) + ":", ""});
    opened_.push_back(lines.size());
    path_.push(key);
  }
  void end() {
    if (opened_.back() == lines.size()) lines.back().text += " {}";
    opened_.pop_back();
    path_.pop();
  }
  template <class T>
  void operator()(std::string_view key, T& value, const Limits&, std::string_view) {
    add(key, write_value(value), plain_text(value));
  }
  template <class Entry>
  void list(std::string_view key, std::vector<Entry>& entries, std::string_view) {
    if (OfOptionalList<Entry> && entries.empty()) return;
    lines.push_back({indent() + std::string(key) + ":" + (entries.empty() ? " []" : ""), ""});
    path_.push(key);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      path_.push_item(i);
      starts_item_ = true;
      walk_entry(*this, entries[i]);
      path_.pop();
    }
    path_.pop();
  }
  template <class Variant>
  void type(Variant& variant) {
    const std::string name = alternative_name(variant);
    add("type", name, name);
  }
  template <class Variant>
  void alternative(Variant& variant) {
    std::visit([&](auto& options) { visit_fields(*this, options); }, variant);
  }

 private:
  static std::string plain_text(const std::string& value) { return value; }
  static std::string plain_text(const std::optional<std::string>& value) {
    return value.value_or("null");
  }
  static std::string plain_text(const options::FileList& value) {
    return value.names.size() == 1 ? value.names.front() : write_value(value);
  }
  static std::string plain_text(const std::optional<options::FileList>& value) {
    return value ? plain_text(*value) : "null";
  }
  template <class T>
  static std::string plain_text(const T& value) {
    return write_value(value);
  }

  /// The first key of a list's item stands behind its dash.
  std::string indent() {
    return std::exchange(starts_item_, false) ? std::string(2 * path_.depth() - 2, ' ') + "- "
                                              : std::string(2 * path_.depth(), ' ');
  }
  void add(std::string_view key, const std::string& yaml, std::string text) {
    const std::string dotted = path_.child(key);
    lines.push_back({indent() + std::string(key) + ": " + yaml, dotted});
    values.emplace_back(dotted, std::move(text));
  }

  KeyPath path_;
  bool starts_item_ = false;
  std::vector<std::size_t> opened_;  // lines there were when each open map began
};

Writer write(Recipe recipe) {  // a copy: visit_fields takes what it could change
  Writer writer;
  walk(writer, recipe);
  return writer;
}

}  // namespace

std::string dump(const Recipe& recipe, const Origins* origins) {
  constexpr std::size_t widest = 60;  // longer values push their comment out, not everybody's
  const Writer writer = write(recipe);
  std::size_t width = 0;
  for (const auto& line : writer.lines)
    if (!line.key.empty() && line.text.size() <= widest) width = std::max(width, line.text.size());
  std::string out;
  for (const auto& line : writer.lines) {
    out += line.text;
    if (origins && !line.key.empty()) {
      const auto origin = origins->find(line.key);
      out += std::string(width > line.text.size() ? width - line.text.size() : 0, ' ') + "  # " +
             (origin == origins->end() ? "default" : origin->second);
    }
    out += '\n';
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> flatten(const Recipe& recipe) {
  return write(recipe).values;
}

}  // namespace trainx::recipe
