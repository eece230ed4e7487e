#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Of zero3, once all else is decided: whether weights that forward has gathered stay for
/// recomputation and backward, and of how many blocks, or are gathered again: by `rates` the
/// fastest that fits `budget_bytes` (0: anything fits); where links were not measured they are
/// gathered again, which takes the least memory. Writes into plan.turns_kept and plan.choices.
void choose_kept_weights(Decisions& plan, std::int64_t budget_bytes, const program::Rates* rates);

}  // namespace trainx::plan
