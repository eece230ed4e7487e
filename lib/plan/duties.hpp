// What ranks do in a run. Ranks with the same duties have one role (roles.hpp).
#pragma once
#include "plan/draft.hpp"
#include <vector>

namespace trainx::plan {

/// Of a role. Programs follow from them and the draft. The first rank of a run has all duties.
struct Duties {
  int first_rank = 0;         // the role's ranks are those from this one to the next role's
  int stage = 0;              // of a pipeline
  bool reads_batches = true;  // else its batches are sent to it
  bool has_loss = true;       // and what else is reported of a step
  // from step to step, with states: it loads them, updates them and writes them to checkpoints
  bool keeps_weights = true;
  bool evaluates = true;
};

/// Of each role, in the order of their ranks: the one place that makes roles.
std::vector<Duties> duties_of(const Draft& plan);

}  // namespace trainx::plan
