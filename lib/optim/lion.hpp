#pragma once
#include "kernels/optimizer/lion.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

kernels::LionSettings settings_of(const options::LionOptions& options);
/// Lion, in fp32.
std::unique_ptr<Optimizer> make(const options::LionOptions& options);

}  // namespace trainx::optim
