#include "recipe/reader.hpp"
#include "recipe/absent.hpp"
#include "recipe/short_forms.hpp"
#include "recipe/synonyms.hpp"

namespace trainx::recipe {

using yaml::Node;

Reader::Reader(const Node& root, bool complete, yaml::Problems& problems, Reading& reading)
    : complete_(complete), problems_(problems), reading_(reading) {
  Scope scope;
  scope.node = root.is_map() ? &root : nullptr;
  scope.where = root.where;
  scope.bad = !root.is_map();
  scope.keys.push_back("extends");
  reading_.where[""] = root.where;
  scopes_.push_back(std::move(scope));
}

std::string Reader::child_path(std::string_view key) const {
  const std::string& parent = scopes_.back().path;
  return parent.empty() ? std::string(key) : parent + "." + std::string(key);
}

const yaml::Entry* Reader::take(std::string_view key) {
  scopes_.back().keys.emplace_back(key);
  return scopes_.back().node ? scopes_.back().node->find(key) : nullptr;
}

void Reader::note_given(const std::string& path, const yaml::Entry& entry) {
  reading_.where[path] = entry.value.where;
  reading_.origins[path] = yaml::to_string(entry.value.where);
}

void Reader::refuse(const std::string& path, const yaml::Location& where,
                    const std::string& sentence) {
  problems_.add(where, path, sentence);
  reading_.bad.insert(path);
}

void Reader::begin(std::string_view key) {
  Scope scope;
  scope.path = child_path(key);
  scope.where = scopes_.back().where;
  scope.bad = scopes_.back().bad;
  if (key == "options") {
    scope.alternative = scopes_.back().alternative;
    scope.owners = scopes_.back().owners;
    scope.any_alternative = scopes_.back().any_alternative;
    scope.any_key = scopes_.back().any_key;
  }
  if (const yaml::Entry* entry = take(key)) {
    scope.where = entry->where;
    reading_.where[scope.path] = entry->where;
    if (entry->value.is_map()) {
      scope.node = &entry->value;
    } else {
      scope.bad = true;
      report_no_map(scope, entry->value, entry->where);
    }
  }
  scopes_.push_back(std::move(scope));
}

/// `where`: of the key, or of the item.
void Reader::report_no_map(const Scope& scope, const Node& value, const yaml::Location& where) {
  reading_.bad.insert(scope.path);
  // its keys came after the syntax error
  const bool cut_off = !complete_ && value.kind == Node::Kind::null && value.text.empty();
  if (value.kind == Node::Kind::null && !cut_off)
    problems_.add(where, scope.path, "is empty: give it a map of keys, or remove it");
  if (value.kind == Node::Kind::scalar || value.kind == Node::Kind::sequence) {
    problems_.add(value.where, scope.path,
                  "must be a map of keys, not " + std::string(kind_name(value)));
  }
}

const Node* Reader::take_list(std::string_view key, std::string_view doc, bool may_be_absent) {
  const std::string path = child_path(key);
  const yaml::Entry* entry = take(key);
  if (!entry) {
    if (!may_be_absent) report_missing(path, doc);
    return nullptr;
  }
  const Node& value = entry->value;
  reading_.where[path] = entry->where;
  const bool cut_off = !complete_ && value.kind == Node::Kind::null && value.text.empty();
  if (value.kind == Node::Kind::sequence && (may_be_absent || !value.items.empty())) return &value;
  if (value.kind == Node::Kind::broken || cut_off)
    reading_.bad.insert(path);
  else if (value.kind == Node::Kind::sequence)
    refuse(path, value.where, "must not be empty");
  else
    refuse(path, value.where, "must be a list of maps, not " + std::string(kind_name(value)));
  return nullptr;
}

void Reader::begin_item(std::string path, const Node& node) {
  Scope scope;
  scope.path = std::move(path);
  scope.where = node.where;
  reading_.where[scope.path] = node.where;
  if (node.is_map()) {
    scope.node = &node;
  } else {
    scope.bad = true;
    report_no_map(scope, node, node.where);
  }
  scopes_.push_back(std::move(scope));
}

void Reader::end() {
  const Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  if (!scope.node) return;
  for (const yaml::Entry& entry : scope.node->entries)
    if (!entry.key.starts_with("x-") &&
        std::find(scope.keys.begin(), scope.keys.end(), entry.key) == scope.keys.end())
      report_unknown(scope, entry);
}

void Reader::report_empty(const std::string& path, const yaml::Entry* entry, std::string_view doc) {
  if (reading_.bad.contains(path)) return;
  if (entry) return refuse(path, entry->value.where, "must not be empty");
  report_missing(path, doc);
}

void Reader::report_missing(const std::string& path, std::string_view doc) {
  if (complete_ && !scopes_.back().bad && !scopes_.back().any_alternative)
    refuse(path, scopes_.back().where, "is missing: " + std::string(doc));
  reading_.bad.insert(path);
}

void Reader::report_unknown(const Scope& scope, const yaml::Entry& entry) {
  const std::string path = scope.path.empty() ? entry.key : scope.path + "." + entry.key;
  std::string owners;
  if (scope.holds_alternative)
    for (const auto& [key, owner] : scope.owners())
      if (key == entry.key) owners += (owners.empty() ? "" : ", ") + owner;
  if (scope.holds_alternative && (scope.any_key || (!owners.empty() && scope.any_alternative)))
    return;
  std::string sentence = "unknown key";
  if (!owners.empty())
    sentence += " of type " + scope.alternative + " (it belongs to type " + owners + ")";
  else if (const auto now = former_key(path))
    sentence = "was the name of " + std::string(*now) + ", which is given too: remove it";
  else if (const auto what = absent_feature(entry.key))
    sentence += ": " + std::string(*what) + "; remove it";
  else if (const auto meant = suggest(entry.key, scope.keys))
    sentence += " (did you mean '" + *meant + "'?)";
  else if (const auto elsewhere = key_meant(scope.path, entry.key))
    sentence += " (did you mean '" + *elsewhere + "'?)";
  problems_.add(entry.where, path, sentence);
  reading_.bad.insert(path);
}

void read_recipe(const Node& root, bool complete, Recipe& recipe, Reading& reading,
                 yaml::Problems& problems) {
  Reader reader(root, complete, problems, reading);
  walk(reader, recipe);
  reader.end();
}

}  // namespace trainx::recipe
