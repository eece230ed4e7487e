#include "operations/activation/activation_layer_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> ActivationLayer::outputs(const Types& t) const {
  const TensorType& in = t.inputs[x];
  return {{"activated", {in.dtype, {in.rows(), in.columns()}}, {input(x)}, true}};
}

BackwardSpec ActivationLayer::backward(const Types&) const {
  return {.reads = {input(x)}, .inputs = {{.input = x, .over = y}}};
}

Cost ActivationLayer::cost(Direction direction, const Types& t) const {
  Cost c;
  const bool forward = direction == Direction::forward;
  const TensorType& in = t.inputs[x];
  c.kernels = {{KernelFamily::activation}};
  c.element_flops = static_cast<double>(in.elements()) *
                    (forward ? activation_flops : activation_gradient_flops);
  c.element_bytes = in.bytes() * (forward ? 2 : 3);
  c.scratch.resize(1);
  if (forward)
    c.element_output = y;
  else if (t.gpu)
    c.scratch[unused_bias] = {"unused_bias", {DType::f32, {in.columns()}}};
  return c;
}

std::optional<Split> ActivationLayer::split(SplitAxis axis, const Types&) const {
  if (axis != SplitAxis::column) return std::nullopt;
  return Split{};  // columns know nothing of each other
}

bool ActivationLayer::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
