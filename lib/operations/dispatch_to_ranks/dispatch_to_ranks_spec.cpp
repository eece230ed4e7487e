#include "operations/dispatch_to_ranks/dispatch_to_ranks_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> DispatchToRanks::outputs(const Types& t) const {
  const std::int64_t N = t.inputs[indices].rows(), k = t.inputs[indices].columns(),
                     all = ranks * slot_rows(N);
  std::vector<OperandId> chosen{input(indices)};
  if (capacity > 0) chosen.push_back(output(kept));
  std::vector<OperandId> placed = chosen;
  placed.push_back(output(places));
  std::vector<OperandId> weighed = placed;
  weighed.push_back(input(weights));
  const std::vector<std::int64_t> each_choice{N, k};
  return {{"expert_slots",
           {t.inputs[x].dtype, {all, t.inputs[x].columns()}},
           {input(x), output(places)},
           true},
          {"slot_weights", {DType::f32, {all, k}}, weighed},
          {"slot_owners", {DType::i32, {all, k}}, placed},
          {"slot_places", {DType::i32, {N, std::min(k, ranks)}}, chosen},
          {"kept_choices",
           {DType::i32, capacity > 0 ? each_choice : std::vector<std::int64_t>{}},
           {input(indices)}},
          {"expert_offsets", {DType::i32, {experts + 1}}, chosen}};
}

BackwardSpec DispatchToRanks::backward(const Types& t) const {
  BackwardSpec b{.reads = {output(places)}, .inputs = {{.input = x}, {.input = weights}}};
  if (t.wants_gradient(weights)) b.reads.push_back(input(indices));
  return b;
}

Cost DispatchToRanks::cost(Direction direction, const Types& t) const {
  const bool forward = direction == Direction::forward;
  const auto most = static_cast<double>(std::min(t.inputs[indices].columns(), ranks));
  const double one = t.inputs[x].bytes();
  Cost c;
  // two sorts of two launches each, ranks of tokens, rows, and what their ranks need to know of
  // them; a third sort and two launches where choices are dropped
  if (t.gpu) c.kernels = {{KernelFamily::rows, !forward ? 2 : capacity > 0 ? 11 : 7}};
  c.element_bytes = (most + 1) * one + 4 * t.inputs[indices].bytes() * (forward ? most : 1);
  if (forward) c.element_output = rows;
  return c;
}

std::optional<Split> DispatchToRanks::split(SplitAxis, const Types&) const { return std::nullopt; }

bool DispatchToRanks::has_gpu_kernel(const Types&) const { return experts <= gpu_experts; }

}  // namespace trainx::operations
