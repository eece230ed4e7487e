#include "operations/combine/combine_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Combine::outputs(const Types& t) const {
  std::vector<OperandId> from{input(rows)};
  for (const int i : {weights, places, shared, gate})
    if (t.has_input(i)) from.push_back(input(i));
  return {{"combined",
           {t.inputs[rows].dtype, {t.inputs[places].rows(), t.inputs[rows].columns()}},
           from}};
}

BackwardSpec Combine::backward(const Types& t) const {
  BackwardSpec b{.reads = {input(places)}, .inputs = {{.input = rows}}};
  if (t.has_input(weights)) {
    b.inputs.push_back({.input = weights});
    if (t.wants_gradient(rows)) b.reads.push_back(input(weights));
    if (t.wants_gradient(weights)) b.reads.push_back(input(rows));
  }
  if (t.has_input(shared)) b.inputs.push_back({.input = shared});
  if (!t.has_input(gate)) return b;
  b.inputs.push_back({.input = gate});
  b.reads.push_back(input(gate));
  if (t.wants_gradient(gate)) b.reads.push_back(input(shared));
  return b;
}

Cost Combine::cost(Direction direction, const Types& t) const {
  const TensorType& of = t.inputs[rows];
  const std::int64_t read = expected_rows > 0 ? expected_rows : of.rows();
  const double row = static_cast<double>(of.columns() * size_of(of.dtype)),
               all = static_cast<double>(read) * row,
               one = static_cast<double>(t.inputs[places].rows()) * row;
  const bool forward = direction == Direction::forward, shares = t.has_input(shared);
  Cost c;
  if (t.gpu) c.kernels = {{KernelFamily::rows}};
  c.element_bytes = forward ? all + (shares ? 2 : 1) * one : 2 * all + (shares ? 2 : 1) * one;
  c.element_flops = static_cast<double>(read * of.columns()) * (forward ? 2 : 3);
  if (forward) c.element_output = y;
  return c;
}

std::optional<Split> Combine::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Combine::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
