#pragma once
#include "optim/optimizer.hpp"

namespace trainx::optim {

/// average = decay * average + (1 - decay) * weight, in fp32, of the exact weights of the group's
/// tensors.
void average_weights(const GroupMemory& memory, std::int64_t applied_steps, double decay,
                     float* average);

}  // namespace trainx::optim
