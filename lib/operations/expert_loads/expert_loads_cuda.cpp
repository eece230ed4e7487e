#include "kernels/experts/expert_loads.hpp"
#include "operations/common/launch.hpp"
#include "operations/expert_loads/expert_loads_backends.hpp"

namespace trainx::operations::cuda {

void add_expert_loads(const Gpu& gpu, const ExpertLoads& l, const Tensor& loads,
                      const Tensor& offsets, bool accumulate) {
  const kernels::ExpertLoads op{static_cast<int>(l.experts), l.choices,
                                pointer<std::int32_t>(offsets), pointer<double>(loads), accumulate};
  gpu::require(kernels::expert_loads(op, gpu.space.stream), "loads of experts");
  gpu.done(Work::other);
}

}  // namespace trainx::operations::cuda
