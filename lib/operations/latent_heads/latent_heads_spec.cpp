#include "operations/latent_heads/latent_heads_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> LatentHeads::outputs(const Types& t) const {
  return {{"latent_heads",
           {t.inputs[queries].dtype, {t.inputs[queries].rows(), columns()}},
           {input(queries), input(keys_values), input(latent)}}};
}

BackwardSpec LatentHeads::backward(const Types&) const {
  return {.inputs = {{.input = queries}, {.input = keys_values}, {.input = latent}}};
}

Cost LatentHeads::cost(Direction direction, const Types& t) const {
  Cost c;
  const TensorType result{t.inputs[queries].dtype, {t.inputs[queries].rows(), columns()}};
  c.kernels = {{KernelFamily::rows}};
  c.element_bytes = 2 * result.bytes();
  if (direction == Direction::forward) c.element_output = y;
  return c;
}

std::optional<Split> LatentHeads::split(SplitAxis axis, const Types&) const {
  if (axis != SplitAxis::heads) return std::nullopt;
  return Split{};  // heads share the latent's columns alone
}

bool LatentHeads::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
