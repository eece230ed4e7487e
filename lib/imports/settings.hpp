// One map of another tool's file: its values by key, read with their types; whoever looks at a key
// answers for it.
#pragma once
#include "imports/draft.hpp"
#include <cstdint>
#include <set>

namespace trainx::imports {

/// A scalar as a sentence shows it; lists and maps are named only.
std::string shown(const yaml::Node& node);
/// The same, with the items of a short list of scalars: [full_shard, auto_wrap].
std::string shown_with_items(const yaml::Node& node);
/// As text: "null" for nothing, numbers as they are written.
std::string plain_text(const yaml::Node& node);

/// Values that another tool takes when its key is missing: "0.9"; several separated by '|' mean the
/// same; "*": whatever the value, it changes nothing by itself. null is always one of them.
bool is_default(const yaml::Node& node, std::string_view defaults);

class Settings {
 public:
  /// `prefix`: the dotted key of the map in its file, empty for the whole. `map` and `draft`
  /// outlive this.
  Settings(const yaml::Node& map, Draft& draft, std::string prefix = "")
      : map_(map), draft_(draft), prefix_(std::move(prefix)) {}

  /// Null where the key is missing, null, or `auto`.
  const yaml::Node* take(std::string_view key);
  /// The readers throw UserError 65 with file and place where the value is of another type.
  std::optional<double> number(std::string_view key);
  std::optional<std::int64_t> whole(std::string_view key);  // also 16.0
  std::optional<bool> flag(std::string_view key);           // also yes, no, on, off, in any case
  std::optional<std::string> text(std::string_view key);
  /// In lower case, `auto` and numbers as they are written; empty if the key is missing or null.
  std::string word(std::string_view key);
  /// Of a list its scalars, of a scalar its parts between blanks and commas, in lower case.
  std::vector<std::string> words(std::string_view key);
  /// Empty settings where there are none.
  Settings section(std::string_view key);
  bool has(std::string_view key) const;  // and not null
  bool is_written(std::string_view key) const { return map_.find(key) != nullptr; }
  bool empty() const { return map_.entries.empty(); }

  /// Sets the recipe's key from what stands at `key`; a value that is one of `defaults` is assumed
  /// only.
  void set(const std::string& recipe_key, std::string yaml, std::string_view key,
           std::string_view defaults = "");
  /// For a value that is nowhere in the file.
  void assume(const std::string& recipe_key, std::string yaml, const std::string& why);
  void leave(std::string_view key, const std::string& why, bool differs = false);
  [[noreturn]] void refuse(std::string_view key, const std::string& sentence) const;

  /// Calls `f(entry)` for the keys that nobody took.
  template <class F>
  void for_each_rest(F&& f) const {
    for (const yaml::Entry& entry : map_.entries)
      if (!taken_.contains(entry.key)) f(entry);
  }
  std::string path(std::string_view key) const;  // dotted, as a sentence shows it
  yaml::Location where(std::string_view key) const;
  Draft& draft() { return draft_; }

 private:
  const yaml::Node& map_;
  Draft& draft_;
  std::string prefix_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace trainx::imports
