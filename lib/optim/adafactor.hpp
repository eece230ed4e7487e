#pragma once
#include "kernels/optimizer/adafactor.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

kernels::AdafactorSettings settings_of(const spec::AdafactorOptions& options);
/// A tensor as matrices, without rows that pad a vocabulary.
kernels::AdafactorShape adafactor_shape(const program::ParameterSpec& p);
/// Adafactor in the order of operations of transformers.Adafactor, in fp32. The step's lr is its relative step size where the options ask for one.
std::unique_ptr<Optimizer> make(const spec::AdafactorOptions& options);

}  // namespace trainx::optim
