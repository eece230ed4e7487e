#pragma once
#include "optim/optimizer.hpp"

namespace trainx::optim {

/// Adafactor in the order of operations of transformers.Adafactor, in fp32; sums over a tensor in double. The step's lr is its relative step size where the
/// options ask for one.
std::unique_ptr<Optimizer> make(const spec::AdafactorOptions& options);

}  // namespace trainx::optim
