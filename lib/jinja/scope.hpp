#pragma once
#include "jinja/syntax.hpp"
#include "jinja/value.hpp"
#include <vector>

namespace trainx::jinja {

/// The variables of a scope while it runs.
struct Scope {
  struct Slot {
    Value value;
    bool there = false;
  };
  Scope* outer = nullptr;
  const Loads* loads = nullptr;
  std::vector<Slot> slots;

  Slot& at(const Place& place) {
    Scope* scope = this;
    for (int i = 0; i < place.hops; ++i) scope = scope->outer;
    return scope->slots[place.slot];
  }
  void set(const Place& place, Value value) { at(place) = {std::move(value), true}; }
};

}  // namespace trainx::jinja
