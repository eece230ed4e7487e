#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Quantize::outputs(const Types& t) const {
  std::vector<OutputSpec> out{{"fp8", {DType::u8, t.inputs[x].dims}, {input(x)}},
                              {"fp8_scale", {DType::f32, {1}}, {input(x)}}};
  if (transposes)
    out.push_back({"fp8_transposed",
                   {DType::u8, {t.inputs[x].columns(), t.inputs[x].rows()}},
                   {input(x), output(scale)}});
  return out;
}

Cost Quantize::cost(Direction direction, const Types& t) const {
  Cost c;
  if (direction == Direction::backward) return c;
  const auto elements = static_cast<double>(t.inputs[x].elements());
  // one reading for the largest value, one for the cast
  c.element_flops = 4 * elements;
  c.element_bytes = 2 * t.inputs[x].bytes() + (transposes ? 2 : 1) * elements;
  c.element_output = values;
  if (t.gpu) c.kernels = {{KernelFamily::quantize, quantize_kernels}};
  return c;
}

// A part of the columns has another largest value.
std::optional<Split> Quantize::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Quantize::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
