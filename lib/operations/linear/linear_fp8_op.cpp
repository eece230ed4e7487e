#include "operations/activation/activation.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/linear/linear_fp8.hpp"
#include "operations/linear/linear_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {
namespace {

/// Memory for x[rows, columns] in fp8: scratch that linear layers of the block share, which may be
/// larger. Undefined where this direction needs no such copy.
Tensor copy_in(const OpContext& c, int scratch, const Dims& dims) {
  const Tensor memory = c.scratch(scratch);
  return memory.defined() ? memory.view({-1}).narrow(0, 0, dims[0] * dims[1]).view(dims) : Tensor();
}

Fp8Tensor quantized(const OpContext& c, const Tensor& x, int values, int transposed, int scale,
                    Fp8 format) {
  const Fp8Tensor to{copy_in(c, values, x.dims), c.scratch(scale), format,
                     copy_in(c, transposed, {x.size(1), x.size(0)})};
  quantize(to, x);
  return to;
}

Fp8Tensor quantized_weight(const OpContext& c) {
  return quantized(c, c.parameter(Linear::weight), Linear::fp8_weight,
                   Linear::fp8_weight_transposed, Linear::fp8_weight_scale, Fp8::e4m3);
}

Fp8Tensor quantized_input(const OpContext& c) {
  return {by_row(c.input(Linear::x)), c.input(Linear::input_scale), Fp8::e4m3,
          c.input(Linear::input_transposed)};
}

}  // namespace

void Linear::run_fp8_forward(const OpContext& c, bool multiplies, bool activates) const {
  const Tensor out = c.output(keeps_sum() ? preactivation : y);
  if (multiplies)
    fp8_linear(by_row(out), quantized_input(c), quantized_weight(c), c.parameter(bias),
               c.scratch(fp8_wide));
  if (activates) activate(activation, c.output(y), out);
}

void Linear::run_fp8_products_backward(const OpContext& c, const Tensor& dy) const {
  const Tensor d_weight = c.parameter_gradient(weight), d_sum = c.input_gradient(input_sum),
               dx = d_sum.defined() ? d_sum : c.input_gradient(x), wide = c.scratch(fp8_wide);
  if (const Tensor d_bias = c.parameter_gradient(bias); d_bias.defined() && !differentiates())
    column_sum(d_bias, dy, c.accumulates(bias));
  if (!d_weight.defined() && !dx.defined()) return;
  const Fp8Tensor gradient =
      quantized(c, dy, fp8_gradient, fp8_gradient_transposed, fp8_gradient_scale, Fp8::e5m2);
  if (d_weight.defined())
    fp8_linear_backward_weight(d_weight, gradient, quantized_input(c), c.accumulates(weight), wide);
  if (!dx.defined()) return;
  fp8_linear_backward_input(dx, gradient, quantized_weight(c),
                            d_sum.defined() ? Tensor() : c.addend(x), wide);
  if (!d_sum.defined()) return;
  const Tensor of_bias = c.parameter_gradient(input_bias);
  activate_backward(input_activation, d_sum,
                    of_bias.defined() ? of_bias : c.scratch(unused_input_bias), d_sum,
                    c.input(input_sum), c.accumulates(input_bias));
}

}  // namespace trainx::operations
