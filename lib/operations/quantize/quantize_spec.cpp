#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Quantize::outputs(const Types& t) const {
  std::vector<std::int64_t> dims = t.inputs[x].dims;
  if (gated) dims.back() /= 2;
  const TensorType values_type{DType::u8, dims};
  std::vector<OutputSpec> out{{"fp8", values_type, {input(x)}},
                              {"fp8_scale", {DType::f32, {1}}, {input(x)}}};
  if (transposes)
    out.push_back({"fp8_transposed",
                   {DType::u8, {values_type.columns(), values_type.rows()}},
                   {input(x), output(scale)}});
  return out;
}

Cost Quantize::cost(Direction direction, const Types& t) const {
  Cost c;
  if (direction == Direction::backward) return c;
  const auto elements = static_cast<double>(t.inputs[x].elements()) / (gated ? 2 : 1);
  const int reads = delayed ? 1 : 2;  // for the largest value, for the cast
  c.element_flops = (4 + (activation == Activation::none ? 0 : reads * activation_flops)) *
                    elements;
  c.element_bytes = reads * t.inputs[x].bytes() + (transposes ? 2 : 1) * elements;
  c.element_output = values;
  if (t.gpu) c.kernels = {{KernelFamily::quantize, quantize_kernels}};
  return c;
}

// A part of the columns has another largest value.
std::optional<Split> Quantize::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Quantize::has_gpu_kernel(const Types&) const { return true; }

bool casts_gate(Activation f, DType compute) {
  return (f == Activation::silu || f == Activation::gelu_tanh) && compute == DType::bf16;
}
bool casts_activation(Activation f, DType compute) {
  return (f == Activation::gelu_tanh || f == Activation::gelu_erf) && compute == DType::bf16;
}

}  // namespace trainx::operations
