// Tokens of each expert (expert_loads_spec.hpp).
#pragma once
#include "operations/expert_loads/expert_loads_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// loads[experts + 1] (f64) = or += the rows of each expert, of offsets[experts + 1], and the
/// choices that have no row.
void add_expert_loads(const ExpertLoads& l, const Tensor& loads, const Tensor& offsets,
                      bool accumulate);

}  // namespace trainx::operations
