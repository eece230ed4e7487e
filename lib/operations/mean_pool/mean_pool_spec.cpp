#include "operations/mean_pool/mean_pool_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> MeanPool::outputs(const Types& t) const {
  return {{"pooled",
           {t.inputs[x].dtype, {t.inputs[x].rows(), t.inputs[x].columns()}},
           {input(x), input(lengths)}}};
}

BackwardSpec MeanPool::backward(const Types&) const {
  return {.reads = {input(lengths)}, .inputs = {{.input = x}}};
}

Cost MeanPool::cost(Direction, const Types& t) const {
  Cost c;
  c.element_flops = static_cast<double>(t.inputs[x].elements());
  c.element_bytes = 2 * t.inputs[x].bytes();
  c.element_output = pooled;
  return c;
}

std::optional<Split> MeanPool::split(SplitAxis, const Types&) const { return std::nullopt; }

bool MeanPool::has_gpu_kernel(const Types&) const { return false; }

}  // namespace trainx::operations
