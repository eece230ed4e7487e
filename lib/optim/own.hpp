#pragma once
#include "optim/optimizer.hpp"

namespace trainx::optim {

/// An optimizer of the user's own worker. Throws UserError 78 if its rule fails or is not
/// element-wise.
std::unique_ptr<Optimizer> make(const options::OwnOptimizerOptions& options);

}  // namespace trainx::optim
