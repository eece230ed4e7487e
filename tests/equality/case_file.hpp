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

/// Bounds of numbers, both ends included.
struct Range {
  double low = 0, high = 0;
};

struct Relation {
  std::set<Quantity> equal, unequal;  // to the bit
  std::set<Quantity> absent;          // of which the changed run has none
  std::map<Quantity, double> within;  // largest relative difference
  std::map<Quantity, double> apart;   // that the largest relative difference exceeds
  std::map<Quantity, double> near;    // largest difference as a share of the base's range
  std::map<Quantity, Range> between;  // of all numbers of the changed run
  std::optional<int> refused;         // the exit code of the change, which has no base then
  std::vector<std::string> names;     // words that its refusal names

  /// Whether it relates the changed run to another one.
  bool has_base() const {
    return !equal.empty() || !unequal.empty() || !within.empty() || !apart.empty() || !near.empty();
  }
  bool has_bounds() const { return !within.empty() || !apart.empty() || !near.empty(); }
  bool compares() const { return has_base() || !absent.empty() || !between.empty(); }
};

using Settings = std::vector<std::string>;  // key=value
using Stages = std::vector<Settings>;       // trained one after the other in one run's folder

/// A budget of memory: a share of what trainx plans for the recipe with these settings.
struct Budget {
  Settings settings;
  double share = 1;
};

struct Change {
  std::string name, recipe;
  Stages stages, base;
  Relation relation;
  int ends = 0;                           // exit code of the last stage and of the base
  std::map<std::string, Budget> budgets;  // what {NAME} in a setting stands for
};

struct Case {
  std::string name;
  std::vector<Change> changes;
  std::optional<std::size_t> few;  // changes that are always tried; empty: all
};

/// Throws std::runtime_error that names the file, the line and what is wrong with it.
std::vector<Case> read_cases(const std::string& path);

}  // namespace trainx::equality
