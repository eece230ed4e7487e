// Cases of equality as data: a recipe, changes of it, and how each changed run relates to the
// unchanged one. tests/equality/README.md has the format.
#pragma once
#include "equality/quantity.hpp"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trainx::equality {

struct Relation {
  std::set<Quantity> equal, unequal;  // to the bit
  std::set<Quantity> absent;          // of which the changed run has none
  std::map<Quantity, double> within;  // largest relative difference
  std::map<Quantity, double> apart;   // that the largest relative difference exceeds
  std::optional<int> refused;         // the exit code of the change, which has no base then
  std::vector<std::string> names;     // words that its refusal names

  bool compares() const {
    return !equal.empty() || !unequal.empty() || !absent.empty() || !within.empty() ||
           !apart.empty();
  }
};

using Settings = std::vector<std::string>;  // key=value
using Stages = std::vector<Settings>;       // trained one after the other in one run's folder

struct Change {
  std::string name;
  Stages stages, base;
  Relation relation;
};

struct Case {
  std::string name, recipe;
  std::vector<Change> changes;
  std::optional<std::size_t> few;  // changes that are always tried; empty: all
};

/// Throws std::runtime_error that names the file, the line and what is wrong with it.
std::vector<Case> read_cases(const std::string& path);

}  // namespace trainx::equality
