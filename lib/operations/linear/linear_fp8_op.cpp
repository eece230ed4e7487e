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
                    Fp8 format, const Fp8Cast& how) {
  const Fp8Tensor to{copy_in(c, values, x.dims), c.scratch(scale), format,
                     copy_in(c, transposed, {x.size(1), x.size(0)})};
  quantize(to, x, how);
  return to;
}

Fp8Tensor quantized_weight(const OpContext& c, const Fp8Cast& how) {
  return quantized(c, c.parameter(Linear::weight), Linear::fp8_weight,
                   Linear::fp8_weight_transposed, Linear::fp8_weight_scale, Fp8::e4m3, how);
}

Fp8Tensor quantized_input(const OpContext& c) {
  return {by_row(c.input(Linear::x)), c.input(Linear::input_scale), Fp8::e4m3,
          c.input(Linear::input_transposed)};
}

}  // namespace

void Linear::run_fp8_forward(const OpContext& c, bool multiplies, bool activates) const {
  const Tensor out = c.output(keeps_sum() ? preactivation : y);
  if (multiplies)
    fp8_linear(by_row(out), quantized_input(c),
               quantized_weight(c, fp8_cast(c, {Fp8Class::weights, number})), c.parameter(bias),
               c.scratch(fp8_wide));
  if (activates) activate(activation, c.output(y), out);
}

void Linear::run_fp8_products_backward(const OpContext& c, const Tensor& dy) const {
  const Tensor d_weight = c.parameter_gradient(weight), d_sum = c.input_gradient(input_sum),
               dx = d_sum.defined() ? d_sum : c.input_gradient(x), wide = c.scratch(fp8_wide);
  const Tensor d_bias = c.parameter_gradient(bias);
  // a GPU's kernel that casts reads the gradient for all that is made of it
  const bool on_the_way = dy.place == Place::gpu && (d_weight.defined() || dx.defined());
  if (d_bias.defined() && !differentiates() && !on_the_way)
    column_sum(d_bias, dy, c.accumulates(bias));
  if (!d_weight.defined() && !dx.defined()) return;
  Fp8Cast how = fp8_cast(c, {Fp8Class::gradients, number});
  if (on_the_way && activated_behind)
    how.activation = activation, how.pre = by_row(c.output(preactivation));
  if (on_the_way && (!differentiates() || activated_behind))
    how.column_sums = d_bias, how.accumulate = c.accumulates(bias);
  const Fp8Tensor gradient =
      quantized(c, dy, fp8_gradient, fp8_gradient_transposed, fp8_gradient_scale, Fp8::e5m2, how);
  if (d_weight.defined())
    fp8_linear_backward_weight(d_weight, gradient, quantized_input(c), c.accumulates(weight), wide);
  if (!dx.defined()) return;
  // the weight was counted in forward
  fp8_linear_backward_input(dx, gradient,
                            quantized_weight(c, fp8_cast(c, {Fp8Class::weights, number}, false)),
                            d_sum.defined() ? Tensor() : c.addend(x), wide);
  if (!d_sum.defined()) return;
  const Tensor of_bias = c.parameter_gradient(input_bias);
  activate_backward(input_activation, d_sum,
                    of_bias.defined() ? of_bias : c.scratch(unused_input_bias), d_sum,
                    c.input(input_sum), c.accumulates(input_bias));
}

}  // namespace trainx::operations
