#pragma once
#include "kernels/optimizer/adagrad.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

kernels::AdagradSettings settings_of(const options::AdagradOptions& options);
/// Adagrad in the order of operations of torch.optim.Adagrad, in fp32.
std::unique_ptr<Optimizer> make(const options::AdagradOptions& options);

}  // namespace trainx::optim
