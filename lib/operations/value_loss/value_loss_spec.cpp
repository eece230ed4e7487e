#include "operations/value_loss/value_loss_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> ValueLoss::outputs(const Types&) const { return {}; }

// The gradient is made with the loss, in place.
BackwardSpec ValueLoss::backward(const Types&) const { return {.inputs = {{.input = logits}}}; }

Cost ValueLoss::cost(Direction direction, const Types& t) const {
  Cost c;
  if (direction == Direction::backward) return c;
  constexpr double flops = 8;  // of a logit, and of its gradient
  c.element_flops = static_cast<double>(t.inputs[logits].elements()) * flops;
  c.element_bytes = 3 * t.inputs[logits].bytes();
  return c;
}

std::optional<Split> ValueLoss::split(SplitAxis, const Types&) const { return std::nullopt; }

bool ValueLoss::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
