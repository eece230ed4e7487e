#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

/// Derives the third of the three batch quantities; of global_batch_size alone micro-batches of one
/// sample, until one is chosen. Throws UserError 78 with the nearest value that works.
/// `ranks` are those with a batch of their own, which sentences call `factor`.
BatchPlan plan_batch(const recipe::BatchSection& batch, std::int64_t ranks,
                     const std::string& factor = "world_size");

}  // namespace trainx::plan
