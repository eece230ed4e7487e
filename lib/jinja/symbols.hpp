#pragma once
#include "jinja/syntax.hpp"
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trainx::jinja {

/// The variables of one scope, while a template is read.
class Symbols {
 public:
  explicit Symbols(const Symbols* parent)
      : parent_(parent), slots_(std::make_shared<std::map<std::string, std::size_t>>()) {}

  std::optional<Place> find(const std::string& name) const {
    if (own_.contains(name)) return Place{0, slots_->at(name)};
    if (!parent_) return std::nullopt;
    auto place = parent_->find(name);
    if (place) ++place->hops;
    return place;
  }
  void load(const std::string& name) {
    if (!find(name)) define(name, LoadKind::resolve);
  }
  void store(const std::string& name) {
    stores_.insert(name);
    if (!own_.contains(name)) define_outer_or(name, LoadKind::missing);
  }
  std::size_t declare_parameter(const std::string& name) {
    stores_.insert(name);
    return define(name, LoadKind::parameter);
  }

  /// What a branch of a condition may change: a copy, which `join` takes in again.
  Symbols branch() const { return *this; }
  void join(const std::vector<Symbols>& branches) {
    std::set<std::string> stored;
    for (const Symbols& one : branches)
      for (const std::string& name : one.stores_)
        if (!stores_.contains(name)) stored.insert(name);
    for (const Symbols& one : branches) {
      for (const auto& [name, load] : one.own_) own_[name] = load;
      stores_.insert(one.stores_.begin(), one.stores_.end());
    }
    for (const std::string& name : stored) define_outer_or(name, LoadKind::resolve);
  }

  Loads loads() const {
    Loads out(slots_->size());
    for (const auto& [name, slot] : *slots_) out[slot].name = name;
    for (const auto& [name, load] : own_) out[slots_->at(name)] = load;
    return out;
  }

 private:
  std::size_t define(const std::string& name, LoadKind kind, Place from = {}) {
    own_[name] = {name, kind, from};
    return slots_->emplace(name, slots_->size()).first->second;
  }
  void define_outer_or(const std::string& name, LoadKind otherwise) {
    auto outer = parent_ ? parent_->find(name) : std::nullopt;
    if (!outer) {
      define(name, otherwise);
      return;
    }
    ++outer->hops;
    define(name, LoadKind::alias, *outer);
  }

  const Symbols* parent_;
  std::map<std::string, Load> own_;
  std::set<std::string> stores_;
  std::shared_ptr<std::map<std::string, std::size_t>> slots_;  // the same in all branches
};

}  // namespace trainx::jinja
