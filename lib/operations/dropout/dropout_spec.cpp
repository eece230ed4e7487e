#include "operations/dropout/dropout_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> DropoutLayer::outputs(const Types& t) const {
  return {{"dropped", t.inputs[x], {input(x), input(positions)}}};
}

BackwardSpec DropoutLayer::backward(const Types&) const {
  return {.reads = {input(positions)}, .inputs = {{.input = x, .over = y}}};
}

Cost DropoutLayer::cost(Direction, const Types& t) const {
  Cost c;
  c.element_flops = static_cast<double>(t.inputs[x].elements());
  c.element_bytes = 2 * t.inputs[x].bytes();
  c.kernels = {{KernelFamily::dropout}};
  return c;
}

std::optional<Split> DropoutLayer::split(SplitAxis, const Types&) const { return std::nullopt; }

bool DropoutLayer::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
