#include "operations/module/module_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> Module::outputs(const Types& t) const {
  if (loss != Loss::none) return {};
  std::vector<OperandId> from;
  for (int i = 0; i < static_cast<int>(t.inputs.size()); ++i) from.push_back(input(i));
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p) from.push_back(parameter(p));
  std::vector<OutputSpec> out;
  for (const std::vector<std::int64_t>& d : dims)
    out.push_back({.name = "out", .type = {t.compute, d}, .from = from});
  const TensorType kept{DType::u8, {std::max<std::int64_t>(graph_bytes, 1)}};
  out.push_back({.name = "graph",
                 .type = kept,
                 .from = from,
                 .cheap = cheap,
                 .space = program::Space::library});
  return out;
}

// What autograd keeps refers to operands.
BackwardSpec Module::backward(const Types& t) const {
  BackwardSpec b;
  for (int i = first; i < static_cast<int>(t.inputs.size()); ++i) {
    b.reads.push_back(input(i));
    b.inputs.push_back({.input = i});
  }
  if (loss == Loss::none) b.reads.push_back(output(graph()));
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p) {
    b.reads.push_back(parameter(p));
    b.parameters.push_back(p);
  }
  return b;
}

// Nobody knows what it computes, but how long that took.
Cost Module::cost(Direction direction, const Types&) const {
  Cost cost;
  cost.measured_s = direction == Direction::forward ? forward_s : backward_s;
  return cost;
}

std::optional<Split> Module::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Module::has_gpu_kernel(const Types&) const { return true; }  // LibTorch's

}  // namespace trainx::operations
