#include "operations/logit_sums/part_loss_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> PartLoss::outputs(const Types&) const { return {}; }

BackwardSpec PartLoss::backward(const Types&) const {
  return {.reads = {input(all), input(targets)}, .inputs = {{.input = own}}};
}

Cost PartLoss::cost(Direction, const Types& t) const {
  Cost c;
  c.kernels = {{KernelFamily::cross_entropy}};
  c.element_flops = static_cast<double>(t.inputs[all].elements());
  c.element_bytes = t.inputs[all].bytes();
  return c;
}

std::optional<Split> PartLoss::split(SplitAxis, const Types&) const { return std::nullopt; }

bool PartLoss::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
