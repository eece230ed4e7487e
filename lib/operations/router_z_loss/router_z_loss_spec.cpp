#include "operations/router_z_loss/router_z_loss_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> RouterZLoss::outputs(const Types&) const { return {}; }

BackwardSpec RouterZLoss::backward(const Types&) const { return {.inputs = {{.input = z}}}; }

Cost RouterZLoss::cost(Direction, const Types&) const { return {}; }  // a few numbers

std::optional<Split> RouterZLoss::split(SplitAxis, const Types&) const { return std::nullopt; }

bool RouterZLoss::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
