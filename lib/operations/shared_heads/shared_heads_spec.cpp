#include "operations/shared_heads/shared_heads_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> SharedHeads::outputs(const Types& t) const {
  const TensorType& q = t.inputs[queries];
  return {{"shared_heads",
           {q.dtype, {q.rows(), q.columns() + head_size + value_size}},
           {input(queries), input(keys_values)}}};
}

BackwardSpec SharedHeads::backward(const Types&) const {
  return {.inputs = {{.input = queries}, {.input = keys_values}}};
}

Cost SharedHeads::cost(Direction direction, const Types& t) const {
  Cost c;
  const double of_queries = t.inputs[queries].bytes(), of_keys = t.inputs[keys_values].bytes();
  const bool forward = direction == Direction::forward;
  c.kernels = {{KernelFamily::rows, forward ? 3 : 4}};
  c.element_bytes = forward ? 2 * of_queries : 2 * of_queries + of_keys;
  if (forward) c.element_output = y;
  return c;
}

std::optional<Split> SharedHeads::split(SplitAxis, const Types&) const { return std::nullopt; }

bool SharedHeads::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
