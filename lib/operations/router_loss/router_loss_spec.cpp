#include "operations/router_loss/router_loss_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> RouterLoss::outputs(const Types&) const { return {}; }

BackwardSpec RouterLoss::backward(const Types&) const { return {.inputs = {{.input = balance}}}; }

Cost RouterLoss::cost(Direction, const Types&) const { return {}; }  // a few numbers

std::optional<Split> RouterLoss::split(SplitAxis, const Types&) const { return std::nullopt; }

bool RouterLoss::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
