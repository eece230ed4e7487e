#include "operations/columns/columns_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Columns::outputs(const Types& t) const {
  return {{"columns", {t.inputs[x].dtype, {t.inputs[x].rows(), count}}, {input(x)}}};
}

BackwardSpec Columns::backward(const Types&) const { return {.inputs = {{.input = x}}}; }

Cost Columns::cost(Direction direction, const Types& t) const {
  Cost c;
  const TensorType result{t.inputs[x].dtype, {t.inputs[x].rows(), count}};
  const bool forward = direction == Direction::forward;
  c.kernels = {{KernelFamily::rows}};
  c.element_bytes = forward ? 2 * result.bytes() : result.bytes() + t.inputs[x].bytes();
  if (forward) c.element_output = y;
  return c;
}

std::optional<Split> Columns::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Columns::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
