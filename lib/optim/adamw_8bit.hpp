#pragma once
#include "kernels/optimizer/adamw_8bit.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

kernels::AdamW8bitSettings settings_of(const options::AdamW8bitOptions& options);
/// AdamW with moments of a byte each, as bitsandbytes' AdamW8bit on a CPU.
std::unique_ptr<Optimizer> make(const options::AdamW8bitOptions& options);

}  // namespace trainx::optim
