#include "operations/dispatch/dispatch_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> Dispatch::outputs(const Types& t) const {
  const TensorType& chosen = t.inputs[indices];
  std::int64_t all = chosen.elements();
  if (capacity > 0) all = std::min(all, experts * capacity);
  if (most_rows > 0) all = std::min(all, most_rows);
  return {{"expert_rows",
           {t.inputs[x].dtype, {all, t.inputs[x].columns()}},
           {input(x), output(places)},
           true},
          {"expert_places", {DType::i32, chosen.dims}, {input(indices)}},
          {"expert_offsets", {DType::i32, {experts + 1}}, {input(indices)}}};
}

BackwardSpec Dispatch::backward(const Types&) const {
  return {.reads = {output(places)}, .inputs = {{.input = x}}};
}

Cost Dispatch::cost(Direction direction, const Types& t) const {
  const std::int64_t made = expected_rows > 0 ? expected_rows : t.inputs[indices].elements();
  const double moved =
      static_cast<double>(made * t.inputs[x].columns() * size_of(t.inputs[x].dtype));
  Cost c;
  // a sort is two launches
  if (t.gpu) c.kernels = {{KernelFamily::rows, direction == Direction::forward ? 3 : 1}};
  c.element_bytes = moved + (direction == Direction::forward ? moved : t.inputs[x].bytes());
  if (direction == Direction::forward) c.element_output = rows;
  return c;
}

std::optional<Split> Dispatch::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Dispatch::has_gpu_kernel(const Types&) const { return experts <= gpu_experts; }

}  // namespace trainx::operations
