#pragma once
#include "equality/case_file.hpp"
#include "equality/results.hpp"

namespace trainx::equality {

/// What of the relation does not hold, a sentence each; empty where all of it holds. A quantity
/// that neither run has, that differs in length or that holds a NaN never relates.
std::vector<std::string> differences(const Relation& relation, const Results& changed,
                                     const Results& base);

}  // namespace trainx::equality
