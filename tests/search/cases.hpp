// Drawn recipes, and what is held of the search's choices for them.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>
#include <optional>
#include <string>

namespace search_cases {

struct Kind {
  bool small = false;    // a model of few layers and a batch with few divisors: all can be tried
  bool degrees = false;  // several ranks, of which as many share a batch as the search chooses
};
/// "small", "large", "small_degrees", "large_degrees"; nothing: there is no such kind.
std::optional<Kind> kind_named(const std::string& name);

/// A recipe and a machine.
struct Case {
  std::uint64_t number = 0;
  Kind kind;
  std::string recipe, gpu;
  std::int64_t local_ranks = 1;
};

/// The same for the same number.
Case drawn(std::uint64_t number, Kind kind);

trainx::facts::Facts facts_of(const Case& c);

struct Outcome {
  bool fits = false;        // else the run was refused
  std::string choice;       // as keys of the recipe
  double seconds = 0;       // predicted, of a step
  double best_seconds = 0;  // of the best that was found otherwise; 0: nothing else fits
  std::string best;         // as keys that differ from the choice
  bool same = false;        // small cases: the exhaustive search takes the same
  std::string simplest;     // else what it takes, as keys that differ from the choice
  std::int64_t tried = 0;   // choices that were weighed to find it
  std::string advised;      // by advice: faster and not larger; "": nothing
  bool crosses = false;     // layers lie in parts on several hosts, and on one they fit, too
  double plan_seconds = 0;  // that planning took
  /// Whether what is held is so: nothing that fits is refused, and nothing was found that is more
  /// than 1 % faster, or faster and smaller by the plan's own advice. Parts of layers lie on one
  /// host if that fits.
  bool holds() const;
};

/// Plans the case, tries all choices of a small one and `samples` of a large one, and asks for
/// advice.
Outcome outcome_of(const Case& c, int samples);

}  // namespace search_cases
