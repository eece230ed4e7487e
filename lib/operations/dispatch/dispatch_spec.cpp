#include "operations/dispatch/dispatch_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> Dispatch::outputs(const Types& t) const {
  const TensorType& chosen = t.inputs[indices];
  std::int64_t made = chosen.elements();
  if (capacity > 0) made = std::min(made, experts * capacity);
  if (most_rows > 0) made = std::min(made, most_rows);
  std::vector<OperandId> placed_by{input(indices)};
  if (ranks > 1) placed_by.push_back(input(all));
  return {{"expert_rows",
           {t.inputs[x].dtype, {made, t.inputs[x].columns()}},
           {input(x), output(places)},
           true},
          {"expert_places", {DType::i32, chosen.dims}, placed_by},
          {"expert_offsets", {DType::i32, {experts + 1}}, placed_by}};
}

BackwardSpec Dispatch::backward(const Types&) const {
  return {.reads = {output(places)}, .inputs = {{.input = x}}};
}

Cost Dispatch::cost(Direction direction, const Types& t) const {
  const std::int64_t made = expected_rows > 0 ? expected_rows : t.inputs[indices].elements();
  const double moved =
      static_cast<double>(made * t.inputs[x].columns() * size_of(t.inputs[x].dtype));
  Cost c;
  const bool forward = direction == Direction::forward, is_shared = forward && ranks > 1;
  // a sort is two launches; which choices of all ranks have room takes another one and two more
  if (t.gpu) c.kernels = {{KernelFamily::rows, !forward ? 1 : is_shared ? 7 : 3}};
  if (is_shared) c.scratch = {{"kept_choices", {DType::i32, t.inputs[all].dims}}};
  c.element_bytes = moved + (forward ? moved : t.inputs[x].bytes());
  if (forward) c.element_output = rows;
  return c;
}

std::optional<Split> Dispatch::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Dispatch::has_gpu_kernel(const Types&) const { return experts <= gpu_experts; }

}  // namespace trainx::operations
