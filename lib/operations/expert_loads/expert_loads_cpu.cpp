#include "kernels/experts/expert_loads.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/expert_loads/expert_loads_backends.hpp"

namespace trainx::operations {

void cpu::add_expert_loads(const ExpertLoads& l, const Tensor& loads, const Tensor& offsets,
                           bool accumulate) {
  const TimedWork timed(Work::other);
  kernels::expert_loads_reference({static_cast<int>(l.experts), l.choices,
                                   offsets.as<const std::int32_t>(), loads.as<double>(),
                                   accumulate});
}

}  // namespace trainx::operations
