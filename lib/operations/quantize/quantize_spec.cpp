#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

TensorType fp8_scale_type(Fp8Granularity granularity, std::int64_t rows, std::int64_t columns) {
  const auto blocks = [](std::int64_t elements) { return (elements + fp8_block - 1) / fp8_block; };
  switch (granularity) {
    case Fp8Granularity::tensor: break;
    case Fp8Granularity::vector: return {DType::f32, {blocks(columns), rows}};
    // cuBLASLt wants rows of scales at 16 bytes
    case Fp8Granularity::block: return {DType::f32, {blocks(rows), (blocks(columns) + 3) / 4 * 4}};
  }
  return {DType::f32, {1}};
}

std::vector<OutputSpec> Quantize::outputs(const Types& t) const {
  std::vector<std::int64_t> dims = t.inputs[x].dims;
  if (gated) dims.back() /= 2;
  const TensorType values_type{DType::u8, dims};
  const std::int64_t rows = values_type.rows(), columns = values_type.columns();
  const bool in_blocks = scaling == Fp8Scaling::blocks;
  const Fp8Granularity granularity = in_blocks ? Fp8Granularity::vector : Fp8Granularity::tensor;
  std::vector<OutputSpec> out{
      {"fp8", values_type, {input(x)}},
      {"fp8_scale", fp8_scale_type(granularity, rows, columns), {input(x)}}};
  if (transposes)
    out.push_back({"fp8_transposed",
                   {DType::u8, {columns, rows}},
                   {input(x), output(in_blocks ? transposed_scale : scale)}});
  if (transposes && in_blocks)
    out.push_back({"fp8_transposed_scale", fp8_scale_type(granularity, columns, rows), {input(x)}});
  return out;
}

Cost Quantize::cost(Direction direction, const Types& t) const {
  Cost c;
  if (direction == Direction::backward) return c;
  const auto elements = static_cast<double>(t.inputs[x].elements()) / (gated ? 2 : 1);
  const int reads = reads_of_cast(scaling);
  c.element_flops = (4 + (activation == Activation::none ? 0 : reads * activation_flops)) *
                    elements;
  c.element_bytes = reads * t.inputs[x].bytes() + (transposes ? 2 : 1) * elements;
  c.element_output = values;
  if (t.gpu) c.kernels = {{KernelFamily::quantize, quantize_kernels(scaling)}};
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
