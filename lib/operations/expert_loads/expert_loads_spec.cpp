#include "operations/expert_loads/expert_loads_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> ExpertLoads::outputs(const Types&) const { return {}; }

BackwardSpec ExpertLoads::backward(const Types&) const { return {}; }

Cost ExpertLoads::cost(Direction, const Types&) const { return {}; }  // a few numbers

std::optional<Split> ExpertLoads::split(SplitAxis, const Types&) const { return std::nullopt; }

bool ExpertLoads::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
