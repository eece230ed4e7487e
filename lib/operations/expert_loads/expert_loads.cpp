#include "operations/expert_loads/expert_loads.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/expert_loads/expert_loads_backends.hpp"

namespace trainx::operations {

void add_expert_loads(const ExpertLoads& l, const Tensor& loads, const Tensor& offsets,
                      bool accumulate) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(loads))
      return cuda::add_expert_loads(*gpu, l, loads, offsets, accumulate);
  return cpu::add_expert_loads(l, loads, offsets, accumulate);
}

}  // namespace trainx::operations
