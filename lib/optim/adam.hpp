#pragma once
#include "kernels/optimizer/adam.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

kernels::AdamSettings settings_of(const options::AdamOptions& options);
/// Adam in the order of operations of torch.optim.Adam, in fp32; bias corrections in double.
std::unique_ptr<Optimizer> make(const options::AdamOptions& options);

}  // namespace trainx::optim
