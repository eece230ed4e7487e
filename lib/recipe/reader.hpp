// From the merged tree to the sections: a walker that reports what does not fit and keeps where
// each value stands.
#pragma once
#include "recipe/recipe.hpp"
#include "recipe/synonyms.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>
#include <functional>
#include <set>

namespace trainx::recipe {

/// What reading leaves beside the values, by dotted key.
struct Reading {
  // of the values that are given, and of the keys of sections
  std::map<std::string, yaml::Location> where;
  std::set<std::string> bad;  // reported: rules leave them alone
  Origins origins;
};

class Reader {
 public:
  /// With `complete` false (the document ended in a syntax error) nothing is reported as missing.
  Reader(const yaml::Node& root, bool complete, yaml::Problems& problems, Reading& reading);

  void begin(std::string_view key);
  void end();

  template <class T>
  void operator()(std::string_view key, T& value, const Limits& limits, std::string_view doc) {
    const std::string path = child_path(key);
    const yaml::Entry* entry = take(key);
    reading_.origins[path] = "default";
    if (entry) {
      note_given(path, *entry);
      if (is_broken(entry->value))
        reading_.bad.insert(path);
      else if (const ValueProblem problem = read_value(entry->value, value, limits))
        refuse(path, entry->value.where, *problem);
    }
    if constexpr (Required<T>) {
      if (value.empty()) report_empty(path, entry, doc);
    }
  }

  template <class Entry>
  void list(std::string_view key, std::vector<Entry>& entries, std::string_view doc) {
    entries.clear();
    const yaml::Node* items = take_list(key, doc, OfOptionalList<Entry>);
    if (!items) return;
    const std::string path = child_path(key);
    for (std::size_t i = 0; i < items->items.size(); ++i) {
      begin_item(path + "[" + std::to_string(i) + "]", items->items[i]);
      walk_entry(*this, entries.emplace_back());
      end();
    }
  }

  template <class Variant>
  void type(Variant& variant) {
    const std::string path = child_path("type");
    Scope& scope = scopes_.back();
    reading_.origins[path] = "default";
    if (const yaml::Entry* entry = take("type");
        entry && entry->value.kind != yaml::Node::Kind::broken) {
      note_given(path, *entry);
      const auto names = alternative_names(variant);
      std::size_t which = 0;
      if (const ValueProblem problem = read_name(entry->value, names, which)) {
        // What was probably meant decides which keys are looked for; where nothing is near, no key
        // of any alternative is called unknown.
        const auto near = entry->value.is_scalar() ? name_meant(entry->value.text, names)
                                                   : std::nullopt;
        const std::string own(near || !entry->value.is_scalar() ? "" : unknown_of_worker(variant));
        refuse(
            path, entry->value.where,
            *problem +
                (own.empty() ? "" : "; " + own + " of your own needs its worker: --worker PATH"));
        scope.any_alternative = !near;
        scope.any_key = !near && can_be_described(variant);
        which = near ? static_cast<std::size_t>(std::find(names.begin(), names.end(), *near) -
                                                names.begin())
                     : 0;
      }
      choose_alternative(variant, which);
    }
    scope.alternative = alternative_name(variant);
    scope.owners = [owners = Owners()]() mutable -> const Owners& {
      if (!owners.empty()) return owners;
      for_each_alternative(Variant{}, [&](auto options) {
        KeyCollector keys;
        visit_fields(keys, options);
        for (std::string& key : keys.keys)
          owners.emplace_back(std::move(key), std::string(options.name));
      });
      return owners;
    };
  }

  template <class Variant>
  void alternative(Variant& variant) {
    std::visit([&](auto& options) { visit_fields(*this, options); }, variant);
    scopes_.back().holds_alternative = true;
  }

 private:
  struct KeyCollector {
    std::vector<std::string> keys;
    template <class T>
    void operator()(std::string_view key, T&, const Limits&, std::string_view) {
      keys.emplace_back(key);
    }
    template <class Entry>
    void list(std::string_view key, std::vector<Entry>&, std::string_view) {
      keys.emplace_back(key);
    }
  };
  /// Key of an alternative -> that alternative.
  using Owners = std::vector<std::pair<std::string, std::string>>;
  struct Scope {  // a map that is being read
    std::string path;
    const yaml::Node* node = nullptr;  // null: not given, or refused
    yaml::Location where;              // of its key, else of what it is in
    std::vector<std::string> keys;     // that it takes
    bool bad = false;
    // Of the section with a `type`, and handed on to its `options`:
    std::string alternative;
    std::function<const Owners&()> owners;  // asked when a key is unknown: they are many
    bool any_alternative = false, holds_alternative = false;
    bool any_key = false;  // nobody knows which keys the alternative has
  };

  /// Reported already, itself or an item of its list.
  static bool is_broken(const yaml::Node& node) {
    return node.kind == yaml::Node::Kind::broken ||
           std::any_of(node.items.begin(), node.items.end(), is_broken);
  }
  std::string child_path(std::string_view key) const;
  const yaml::Entry* take(std::string_view key);
  /// The list of maps at `key`; null where it was reported, or is missing.
  const yaml::Node* take_list(std::string_view key, std::string_view doc, bool may_be_absent);
  void begin_item(std::string path, const yaml::Node& node);
  void report_no_map(const Scope& scope, const yaml::Node& value, const yaml::Location& where);
  void report_missing(const std::string& path, std::string_view doc);
  void note_given(const std::string& path, const yaml::Entry& entry);
  void refuse(const std::string& path, const yaml::Location& where, const std::string& sentence);
  void report_empty(const std::string& path, const yaml::Entry* entry, std::string_view doc);
  void report_unknown(const Scope& scope, const yaml::Entry& entry);

  std::vector<Scope> scopes_;
  bool complete_;
  yaml::Problems& problems_;
  Reading& reading_;
};

/// Reads the whole recipe.
void read_recipe(const yaml::Node& root, bool complete, Recipe& recipe, Reading& reading,
                 yaml::Problems& problems);

}  // namespace trainx::recipe
