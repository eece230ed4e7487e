#pragma once
#include "kernels/optimizer/adafactor.hpp"
#include "optim/group_table.hpp"

namespace trainx::optim {

kernels::AdafactorSettings settings_of(const options::AdafactorOptions& options);
/// Tensors as matrices, without rows that pad a vocabulary, and what is here of each.
std::vector<kernels::AdafactorShape> adafactor_shapes(const TensorRanges& tensors);
/// Adafactor in the order of operations of transformers.Adafactor, in fp32. The step's lr is its
/// relative step size where the options ask for one.
std::unique_ptr<Optimizer> make(const options::AdafactorOptions& options);

}  // namespace trainx::optim
