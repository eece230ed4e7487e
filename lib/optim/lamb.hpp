#pragma once
#include "kernels/optimizer/lamb.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

kernels::LambSettings settings_of(const options::LambOptions& options);
/// LAMB, in fp32; norms of tensors in double.
std::unique_ptr<Optimizer> make(const options::LambOptions& options);

}  // namespace trainx::optim
