// Balance of experts without a loss (Wang et al. 2024, arXiv:2408.15664; DeepSeek-V3,
// arXiv:2412.19437, section 2.1.2). Host memory.
#pragma once
#include "program/model_graph.hpp"

namespace trainx::execute {

/// Each bias of a router's choice in the group moves by `rate`: up where its expert has less than
/// the mean load of its layer, down where it has more. `loads`: f64 [layers, experts + 1], summed
/// over ranks and micro-batches (program::expert_loads). `parameters`: the group, or the rank's
/// shard of it.
void balance_group(const program::GroupSpec& group, double rate, std::int64_t experts,
                   const double* loads, float* parameters);

}  // namespace trainx::execute
