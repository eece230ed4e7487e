#pragma once
#include "equality/case_file.hpp"
#include "equality/results.hpp"

namespace trainx::equality {

/// What of the relation does not hold, a sentence each; empty where all of it holds. A quantity
/// that neither run has, that differs in length or that holds a NaN never relates.
std::vector<std::string> differences(const Relation& relation, const Results& changed,
                                     const Results& base);

/// How much of a bound a difference takes: 0 is none of it, more than 1 fails.
struct Margin {
  std::string of;  // relation and quantity: "within loss"
  double share = 0;
};

/// Of the bounds of `within`, `near` and `apart`; NaN if the runs cannot be compared.
std::vector<Margin> margins(const Relation& relation, const Results& changed, const Results& base);

}  // namespace trainx::equality
