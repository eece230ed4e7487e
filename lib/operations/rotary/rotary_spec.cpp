#include "operations/rotary/rotary_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Rotary::outputs(const Types& t) const {
  OutputSpec out{"rotated", t.inputs[x], {input(x)}};
  if (t.has_input(starts)) out.from.push_back(input(starts));
  return {out};
}

BackwardSpec Rotary::backward(const Types& t) const {
  BackwardSpec b{.inputs = {{.input = x, .over = y}}};
  if (clip > 0) b.reads.push_back(input(x));
  if (t.has_input(starts)) b.reads.push_back(input(starts));
  return b;
}

Cost Rotary::cost(Direction direction, const Types& t) const {
  constexpr double flops = 3;  // of an element, its partner and two factors
  Cost c;
  c.kernels = {{KernelFamily::activation}};
  c.element_flops = static_cast<double>(t.inputs[x].elements()) * flops;
  c.element_bytes = 2 * t.inputs[x].bytes();
  if (direction == Direction::forward) c.element_output = y;
  return c;
}

std::optional<Split> Rotary::split(SplitAxis axis, const Types&) const {
  if (axis != SplitAxis::heads) return std::nullopt;
  return Split{};  // heads know nothing of each other
}

bool Rotary::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
