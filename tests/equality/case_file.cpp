#include "equality/case_file.hpp"
#include "core/files.hpp"
#include "yaml/read.hpp"
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <system_error>

namespace trainx::equality {
namespace {

using yaml::Node;
using Values = std::map<std::string, std::string>;  // of the names in `each`

[[noreturn]] void fail(const yaml::Location& where, const std::string& sentence) {
  throw std::runtime_error(yaml::to_string(where) + ": " + sentence);
}

void allow(const Node& map, const std::set<std::string>& keys) {
  if (!map.is_map()) fail(map.where, "a map is wanted here");
  for (const auto& entry : map.entries)
    if (!keys.contains(entry.key)) fail(entry.where, "no such key: " + entry.key);
}

const std::string& text_of(const Node& node) {
  if (!node.is_scalar()) fail(node.where, "a text is wanted here");
  return node.text;
}

double number_of(const Node& node) {
  const std::string& text = text_of(node);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    fail(node.where, "a number is wanted here, not " + text);
  return value;
}

std::string filled(std::string text, const Values& values) {
  for (const auto& [name, value] : values) {
    const std::string hole = "{" + name + "}";
    for (std::size_t at = 0; (at = text.find(hole, at)) != std::string::npos; at += value.size())
      text.replace(at, hole.size(), value);
  }
  return text;
}

std::vector<std::string> texts_of(const Node& node, const Values& values) {
  if (node.kind != Node::Kind::sequence) fail(node.where, "a list is wanted here");
  std::vector<std::string> texts;
  for (const Node& item : node.items) texts.push_back(filled(text_of(item), values));
  return texts;
}

/// A list of settings, or a list of such lists: one after the other.
Stages stages_of(const Node& node, const Values& values) {
  if (node.kind != Node::Kind::sequence) fail(node.where, "a list of settings is wanted here");
  if (node.items.empty() || node.items.front().is_scalar()) return {texts_of(node, values)};
  Stages stages;
  for (const Node& item : node.items) stages.push_back(texts_of(item, values));
  return stages;
}

Quantity quantity_at(const std::string& name, const yaml::Location& where) {
  try {
    return quantity_of(name);
  } catch (const std::invalid_argument& error) { fail(where, error.what()); }
}

std::set<Quantity> quantities_of(const Node& node, const char* key) {
  std::set<Quantity> found;
  if (const auto* entry = node.find(key))
    for (const Node& item : entry->value.items)
      found.insert(quantity_at(text_of(item), item.where));
  return found;
}

std::map<Quantity, double> bounds_of(const Node& node) {
  if (!node.is_map()) fail(node.where, "a map of quantities and bounds is wanted here");
  std::map<Quantity, double> bounds;
  for (const auto& entry : node.entries)
    bounds[quantity_at(entry.key, entry.where)] = number_of(entry.value);
  return bounds;
}

std::map<Quantity, Range> ranges_of(const Node& node) {
  if (!node.is_map()) fail(node.where, "a map of quantities and bounds is wanted here");
  std::map<Quantity, Range> ranges;
  for (const auto& entry : node.entries) {
    if (entry.value.kind != Node::Kind::sequence || entry.value.items.size() != 2)
      fail(entry.where, "the least and the largest number are wanted here");
    ranges[quantity_at(entry.key, entry.where)] = {number_of(entry.value.items[0]),
                                                   number_of(entry.value.items[1])};
  }
  return ranges;
}

const std::set<std::string> relation_keys{"equal", "unequal", "absent",  "within", "apart",
                                          "near",  "between", "refused", "names"};

/// What `node` says of a relation; the rest as `otherwise`, unless the node begins a refusal.
Relation relation_of(const Node& node, const Values& values, Relation otherwise) {
  bool says = false;
  for (const std::string& key : relation_keys) says = says || node.find(key);
  if (!says) return otherwise;
  Relation relation;
  relation.equal = quantities_of(node, "equal");
  relation.unequal = quantities_of(node, "unequal");
  relation.absent = quantities_of(node, "absent");
  if (const auto* found = node.find("within")) relation.within = bounds_of(found->value);
  if (const auto* found = node.find("apart")) relation.apart = bounds_of(found->value);
  if (const auto* found = node.find("near")) relation.near = bounds_of(found->value);
  if (const auto* found = node.find("between")) relation.between = ranges_of(found->value);
  if (const auto* found = node.find("refused"))
    relation.refused = static_cast<int>(number_of(found->value));
  if (const auto* found = node.find("names")) relation.names = texts_of(found->value, values);
  if (relation.compares() == relation.refused.has_value())
    fail(node.where,
         "a change is compared (equal, unequal, absent, within, apart, near, between) or refused");
  return relation;
}

/// All combinations of the values in `each`; one without values where there is no such key.
std::vector<Values> combinations(const Node& node) {
  std::vector<Values> all{{}};
  const auto* each = node.find("each");
  if (!each) return all;
  if (!each->value.is_map()) fail(each->where, "a map of names and lists is wanted here");
  for (const auto& entry : each->value.entries) {
    std::vector<Values> more;
    for (const Values& values : all)
      for (const std::string& value : texts_of(entry.value, {})) {
        more.push_back(values);
        more.back()[entry.key] = value;
      }
    all = std::move(more);
  }
  return all;
}

std::map<std::string, Budget> budgets_of(const Node& node, const Values& values) {
  std::map<std::string, Budget> budgets;
  if (!node.is_map()) fail(node.where, "a map of names and budgets is wanted here");
  for (const auto& entry : node.entries) {
    allow(entry.value, {"of", "share"});
    const auto *of = entry.value.find("of"), *share = entry.value.find("share");
    if (!of || !share) fail(entry.where, "a budget is a share of a plan (of, share)");
    budgets[entry.key] = {texts_of(of->value, values), number_of(share->value)};
  }
  return budgets;
}

void join(Stages& stages, const Settings& with) {
  for (Settings& settings : stages) settings.insert(settings.begin(), with.begin(), with.end());
}

std::string words_of(const Stages& stages) {
  std::string words;
  for (const Settings& settings : stages) {
    if (!words.empty()) words += " | ";
    for (const std::string& setting : settings) words += (words.empty() ? "" : " ") + setting;
  }
  return words;
}

/// The changes of one entry of `changes`: one for each combination of `each`.
void add_changes(const Node& entry, const Node& parent, const Values& of_case,
                 const std::string& recipe, Case& to) {
  Node node = entry;
  if (node.kind == Node::Kind::sequence) {  // settings alone
    node = Node{};
    node.kind = Node::Kind::map;
    node.where = entry.where;
    node.entries.push_back({"set", entry.where, entry});
  }
  std::set<std::string> keys{"set", "base", "each", "with", "ends", "budgets"};
  keys.insert(relation_keys.begin(), relation_keys.end());
  allow(node, keys);
  const auto* set = node.find("set");
  if (!set) fail(node.where, "a change says what it sets (set)");
  const auto* base = node.find("base") ? node.find("base") : parent.find("base");
  for (Values values : combinations(node)) {
    values.insert(of_case.begin(), of_case.end());
    Change change{.name = {},
                  .recipe = recipe,
                  .stages = stages_of(set->value, values),
                  .base = base ? stages_of(base->value, values) : Stages{{}},
                  .relation = relation_of(node, values, relation_of(parent, values, {})),
                  .ends = 0,
                  .budgets = {}};
    for (const Node* from : {&parent, static_cast<const Node*>(&node)}) {
      if (const auto* found = from->find("ends"))
        change.ends = static_cast<int>(number_of(found->value));
      if (const auto* found = from->find("budgets"))
        for (auto& [name, budget] : budgets_of(found->value, values)) change.budgets[name] = budget;
    }
    change.name = words_of(change.stages);
    if (!change.relation.compares() && !change.relation.refused)
      fail(node.where, "nothing says how this change relates to the base");
    for (const Node* from : {static_cast<const Node*>(&node), &parent})
      if (const auto* with = from->find("with")) {
        join(change.stages, texts_of(with->value, values));
        join(change.base, texts_of(with->value, values));
        for (auto& [name, budget] : change.budgets) {
          const Settings settings = texts_of(with->value, values);
          budget.settings.insert(budget.settings.begin(), settings.begin(), settings.end());
        }
      }
    to.changes.push_back(std::move(change));
  }
}

Case case_of(const Node& node, const std::map<std::string, std::string>& recipes) {
  std::set<std::string> keys{"name", "recipe",  "with", "base",   "each",
                             "few",  "changes", "ends", "budgets"};
  keys.insert(relation_keys.begin(), relation_keys.end());
  allow(node, keys);
  for (const char* needed : {"name", "recipe", "changes"})
    if (!node.find(needed)) fail(node.where, std::string("a case has the key ") + needed);
  Case out{.name = text_of(node.find("name")->value), .changes = {}, .few = {}};
  for (const Values& values : combinations(node)) {
    const Node& recipe = node.find("recipe")->value;
    const auto found = recipes.find(filled(text_of(recipe), values));
    if (found == recipes.end())
      fail(recipe.where, "no such recipe: " + filled(recipe.text, values));
    for (const Node& entry : node.find("changes")->value.items)
      add_changes(entry, node, values, found->second, out);
  }
  if (const auto* few = node.find("few")) {
    out.few = static_cast<std::size_t>(number_of(few->value));
    if (*out.few == 0) fail(few->where, "at least one change is tried");
  }
  if (out.changes.empty()) fail(node.where, "a case has changes");
  return out;
}

}  // namespace

std::vector<Case> read_cases(const std::string& path) {
  yaml::Problems problems;
  const auto document = yaml::read_document(read_file(path), path, problems);
  if (!problems.empty()) throw std::runtime_error(problems.lines().front());
  allow(document.root, {"recipes", "cases"});
  std::map<std::string, std::string> recipes;
  if (const auto* found = document.root.find("recipes"))
    for (const auto& entry : found->value.entries) recipes[entry.key] = text_of(entry.value);
  std::vector<Case> cases;
  std::set<std::string> names;
  if (const auto* found = document.root.find("cases"))
    for (const Node& node : found->value.items) {
      cases.push_back(case_of(node, recipes));
      if (!names.insert(cases.back().name).second) fail(node.where, "two cases have this name");
    }
  if (cases.empty()) throw std::runtime_error(path + ": the file has no cases");
  return cases;
}

}  // namespace trainx::equality
