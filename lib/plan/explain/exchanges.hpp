// What ranks send each other in a step.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

struct Exchange {
  std::string name;  // "gradients summed", "weights out"
  // of a rank: what it gives, or is given; of dp with one other rank
  std::int64_t bytes = 0;
  std::int64_t collectives = 0;  // in how many pieces
};

/// Of a training step, in the order of the program. Of ddp two: sums of the loss and gradients. Of
/// zero three: weights gathered, gradients scattered (the bytes of all shards together), sums of
/// the loss and of the norm, what an optimizer has to know of whole tensors, and where several
/// groups of ranks hold all shards sums of the shards' gradients. Of dp five: batches, weights and
/// the loss's seed out of rank 0, losses and gradients into it.
std::vector<Exchange> exchanges_of(const RunPlan& plan);

}  // namespace trainx::plan
