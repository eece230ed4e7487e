#include "operations/gated/gated_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Gated::outputs(const Types& t) const {
  const TensorType& in = t.inputs[x];
  if (computed_behind) return {{}};
  return {{"activated", {in.dtype, {in.rows(), in.columns() / 2}}, {input(x)}, true}};
}

BackwardSpec Gated::backward(const Types&) const {
  return {.reads = {input(x)}, .inputs = {{.input = x}}};
}

Cost Gated::cost(Direction direction, const Types& t) const {
  Cost c;
  const bool forward = direction == Direction::forward;
  const TensorType& in = t.inputs[x];
  if (forward && computed_behind) return c;
  c.kernels = {{KernelFamily::activation}};
  c.element_flops = static_cast<double>(in.elements() / 2) *
                    (forward ? activation_flops + 1 : activation_gradient_flops + 2);
  c.element_bytes = in.bytes() * (forward ? 1.5 : 2.5);
  if (forward) c.element_output = y;
  return c;
}

std::optional<Split> Gated::split(SplitAxis axis, const Types&) const {
  if (axis != SplitAxis::column) return std::nullopt;
  return Split{};  // columns know nothing of each other
}

bool Gated::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
