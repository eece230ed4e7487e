#include "operations/module/module_spec.hpp"
#include <algorithm>

namespace trainx::operations {

std::vector<OutputSpec> Module::outputs(const Types& t) const {
  if (t.has_input(targets)) return {};
  std::vector<OperandId> from{input(x), input(positions)};
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p) from.push_back(parameter(p));
  const TensorType kept{DType::u8, {std::max<std::int64_t>(graph_bytes, 1)}};
  return {{.name = "out", .type = {t.compute, dims}, .from = from},
          {.name = "graph", .type = kept, .from = from, .space = program::Space::library}};
}

// What autograd keeps refers to operands.
BackwardSpec Module::backward(const Types& t) const {
  BackwardSpec b{.reads = {input(x)}, .inputs = {{.input = x}}};
  if (!t.has_input(targets)) b.reads.push_back(output(graph));
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p) {
    b.reads.push_back(parameter(p));
    b.parameters.push_back(p);
  }
  return b;
}

// Nobody knows what it computes.
Cost Module::cost(Direction, const Types&) const { return {}; }

std::optional<Split> Module::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Module::has_gpu_kernel(const Types&) const { return false; }

}  // namespace trainx::operations
