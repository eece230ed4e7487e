#pragma once
#include "kernels/optimizer/adamw_anyprecision.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

kernels::AnyPrecisionSettings settings_of(const options::AdamWAnyPrecisionOptions& options);
/// AdamW with moments in fp32 or bf16, rounded where torchdistx' AnyPrecisionAdamW rounds them.
std::unique_ptr<Optimizer> make(const options::AdamWAnyPrecisionOptions& options);

}  // namespace trainx::optim
