#include "operations/clamped_gated/clamped_gated_spec.hpp"
#include "operations/activation/activation_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> ClampedGated::outputs(const Types& t) const {
  const TensorType& in = t.inputs[x];
  return {{"activated", {in.dtype, {in.rows(), in.columns() / 2}}, {input(x)}, true}};
}

BackwardSpec ClampedGated::backward(const Types&) const {
  return {.reads = {input(x)}, .inputs = {{.input = x}}};
}

Cost ClampedGated::cost(Direction direction, const Types& t) const {
  Cost c;
  const bool forward = direction == Direction::forward;
  const TensorType& in = t.inputs[x];
  c.kernels = {{KernelFamily::activation}};
  c.element_flops = static_cast<double>(in.elements() / 2) *
                    (forward ? activation_flops + 4 : activation_gradient_flops + 6);
  c.element_bytes = in.bytes() * (forward ? 1.5 : 2.5);
  if (forward) c.element_output = y;
  return c;
}

std::optional<Split> ClampedGated::split(SplitAxis axis, const Types&) const {
  if (axis != SplitAxis::column) return std::nullopt;
  return Split{};  // pairs of columns know nothing of each other
}

bool ClampedGated::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
