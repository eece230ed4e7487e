// Levers that save memory which nothing needs: the run fits without them, and they cost time.
#pragma once
#include "plan/drafted.hpp"
#include <cstdint>

namespace trainx::plan {

struct Needless {
  std::string key, now, better;  // memory.activation_checkpoint, full, none
  double gain_s = 0;             // predicted, of a step; 0: the cost was not measured
  double share = 0;              // of a step
  // memory per rank without it; negative: it takes memory instead of saving it
  std::int64_t more_bytes = 0;
  std::string reason;
};

/// The most expensive first; each fits with those before it taken away too. Needs plan.memory and
/// its budget. On a CPU their cost is not known: all that the run fits without are told.
/// `draft_of`: for ranks that share a batch, which are told last; empty: they are not.
std::vector<Needless> needless_levers(const RunPlan& plan, const DraftOf& draft_of = {});

/// A batch of several micro-batches or ranks that leaves few steps in an epoch. "" else.
std::string batch_hint(const RunPlan& plan);

std::string describe(const std::vector<Needless>& levers, const RunPlan& plan);
nlohmann::json to_json(const std::vector<Needless>& levers);

}  // namespace trainx::plan
