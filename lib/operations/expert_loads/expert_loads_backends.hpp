// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/expert_loads/expert_loads.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void add_expert_loads(const ExpertLoads& l, const Tensor& loads, const Tensor& offsets,
                      bool accumulate);
}  // namespace cpu

namespace cuda {
void add_expert_loads(const Gpu& gpu, const ExpertLoads& l, const Tensor& loads,
                      const Tensor& offsets, bool accumulate);
}  // namespace cuda

}  // namespace trainx::operations
