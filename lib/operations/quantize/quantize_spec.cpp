#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Quantize::outputs(const Types& t) const {
  return {{"fp8", {DType::u8, t.inputs[x].dims}, {input(x)}},
          {"fp8_scale", {DType::f32, {1}}, {input(x)}}};
}

Cost Quantize::cost(Direction direction, const Types& t) const {
  Cost c;
  if (direction == Direction::backward) return c;
  const auto elements = static_cast<double>(t.inputs[x].elements());
  // one reading for the largest value, one for the cast
  c.element_flops = 4 * elements;
  c.element_bytes = 2 * t.inputs[x].bytes() + elements;
  c.element_output = values;
  return c;
}

// A part of the columns has another largest value.
std::optional<Split> Quantize::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Quantize::has_gpu_kernel(const Types&) const { return false; }

}  // namespace trainx::operations
