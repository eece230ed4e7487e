#include "operations/mean_pool/mean_pool_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> MeanPool::outputs(const Types& t) const {
  return {
      {"pooled", {t.inputs[x].dtype, {batch, t.inputs[x].columns()}}, {input(x), input(lengths)}}};
}

BackwardSpec MeanPool::backward(const Types&) const {
  return {.reads = {input(lengths)}, .inputs = {{.input = x}}};
}

Cost MeanPool::cost(Direction, const Types& t) const {
  Cost c;
  const auto elements = static_cast<double>(batch * length * t.inputs[x].columns());
  c.element_flops = elements;
  c.element_bytes = elements * static_cast<double>(size_of(t.inputs[x].dtype));
  c.element_output = pooled;
  return c;
}

std::optional<Split> MeanPool::split(SplitAxis, const Types&) const { return std::nullopt; }

bool MeanPool::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
