#include "operations/dispatch/dispatch_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> Dispatch::outputs(const Types& t) const {
  const TensorType& chosen = t.inputs[indices];
  const std::int64_t all = parts > 1      ? parts * capacity
                           : capacity > 0 ? std::min(chosen.elements(), experts * capacity)
                                          : chosen.elements();
  return {{parts > 1 ? "expert_slots" : "expert_rows",
           {t.inputs[x].dtype, {all, t.inputs[x].columns()}},
           {input(x), output(places)},
           true},
          {"expert_places", {DType::i32, chosen.dims}, {input(indices)}},
          {"expert_offsets", {DType::i32, {experts + 1}}, {input(indices)}},
          {"expert_owners",
           {DType::i32, parts > 1 ? std::vector{all} : std::vector<std::int64_t>{}},
           {input(indices)}}};
}

BackwardSpec Dispatch::backward(const Types&) const {
  return {.reads = {output(places)}, .inputs = {{.input = x}}};
}

Cost Dispatch::cost(Direction direction, const Types& t) const {
  const double moved = static_cast<double>(t.inputs[indices].columns()) * t.inputs[x].bytes();
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
