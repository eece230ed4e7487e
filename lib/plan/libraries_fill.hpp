#pragma once
#include "plan/draft.hpp"

namespace trainx::plan {

/// Whether what libraries and the process take beside a micro-batch of one sample is more than
/// plan.budget_bytes, so that no choice can fit and nothing need be searched.
bool libraries_fill(const Draft& plan);

}  // namespace trainx::plan
