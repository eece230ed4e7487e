// Other ways to run a recipe: the best few, with what each takes.
#pragma once
#include "plan/choose/evaluator.hpp"
#include "plan/drafted.hpp"
#include <string>
#include <vector>

namespace trainx::plan {

struct Alternative {
  Decisions choice;
  Evaluation takes;
  std::vector<std::string> changes;  // keys and values that differ from the plan; none: the plan
  double tokens_per_s = 0;           // of all ranks; 0: times are not known
};

/// The plan first, then the fastest ways that fit, each with another mode, another number of shards
/// or of ranks that share a batch, or other things on the host, and with the micro-batch and
/// recomputation that are best there; at most `most` in all. What the recipe wrote is varied, too.
/// Without rates: in the order in which trainx would take them. `draft_of`: empty: the ranks that
/// share a batch stay.
std::vector<Alternative> alternatives(const RunPlan& plan, std::size_t most = 5,
                                      const DraftOf& draft_of = {});

/// A table as text.
std::string describe(const std::vector<Alternative>& all, const RunPlan& plan);
nlohmann::json to_json(const std::vector<Alternative>& all);

}  // namespace trainx::plan
