#include "operations/activation/activation.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/linear/linear_fp8.hpp"
#include "operations/linear/linear_spec.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::operations {
namespace {

/// Memory for x[rows, columns] in fp8, or its scales: scratch that linear layers of the block
/// share, which may be larger. Undefined where this direction needs no such copy.
Tensor copy_in(const OpContext& c, int scratch, const Dims& dims) {
  const Tensor memory = c.scratch(scratch);
  if (!memory.defined()) return {};
  std::int64_t elements = 1;
  for (const std::int64_t size : dims) elements *= size;
  return memory.view({-1}).narrow(0, 0, elements).view(dims);
}

/// Scratch of a tensor that is cast (Linear::Scratch).
struct Fp8Scratch {
  int values, scale, transposed, transposed_scale;
};
constexpr Fp8Scratch of_weight{Linear::fp8_weight, Linear::fp8_weight_scale,
                               Linear::fp8_weight_transposed, Linear::fp8_weight_transposed_scale},
    of_gradient{Linear::fp8_gradient, Linear::fp8_gradient_scale, Linear::fp8_gradient_transposed,
                Linear::fp8_gradient_transposed_scale};

Fp8Tensor quantized(const OpContext& c, const Tensor& x, const Fp8Scratch& scratch, Fp8 format,
                    Fp8Granularity granularity, const Fp8Cast& how) {
  const std::int64_t rows = x.size(0), columns = how.gated ? 2 * x.size(1) : x.size(1);
  const Fp8Tensor to{
      copy_in(c, scratch.values, {rows, columns}),
      copy_in(c, scratch.scale, fp8_scale_type(granularity, rows, columns).dims),
      format,
      copy_in(c, scratch.transposed, {columns, rows}),
      granularity,
      copy_in(c, scratch.transposed_scale, fp8_scale_type(granularity, columns, rows).dims)};
  quantize(to, x, how);
  return to;
}

}  // namespace

Fp8Tensor Linear::fp8_input(const OpContext& c) const {
  return {by_row(c.input(x)),        c.input(input_scale), Fp8::e4m3,
          c.input(input_transposed), fp8->granularity(),   c.input(input_transposed_scale)};
}
Fp8Tensor Linear::fp8_weights(const OpContext& c, bool forward) const {
  if (fp8->takes_fp8_weight()) {
    const Tensor values = c.parameter(weight),
                 transposed = copy_in(c, fp8_weight_transposed, {values.size(1), values.size(0)});
    if (transposed.defined()) transpose_fp8(transposed, values);
    return {values, c.fp8_scale(weight), Fp8::e4m3, transposed};
  }
  // the weight is counted in forward
  const Fp8Cast how =
      fp8_cast(c, {Fp8Class::weights, fp8->number}, forward && !fp8->weight_is_frozen);
  if (!fp8->casts_once())
    return quantized(c, c.parameter(weight), of_weight, Fp8::e4m3, fp8->weight_granularity(), how);
  const Fp8Tensor copies{c.scratch(fp8_weight),
                         c.scratch(fp8_weight_scale),
                         Fp8::e4m3,
                         c.scratch(fp8_weight_transposed),
                         fp8->weight_granularity(),
                         c.scratch(fp8_weight_transposed_scale)};
  if (c.writes_scratch(fp8_weight)) quantize(copies, c.parameter(weight), how);
  return copies;
}

void Linear::run_weight_casts(const OpContext& c) const {
  if (fp8 && fp8->casts_once_a_run()) fp8_weights(c, false);
}

void Linear::run_fp8_forward(const OpContext& c, bool multiplies, bool activates) const {
  const Tensor out = c.output(epilogue.keeps_sum() ? preactivation : y);
  if (multiplies)
    fp8_linear(by_row(out), fp8_input(c), fp8_weights(c, true),
               adds_bias(c) ? c.parameter(bias) : Tensor(), c.scratch(fp8_wide));
  if (activates) activate(epilogue.activation, c.output(y), out);
}

void Linear::run_fp8_products_backward(const OpContext& c, const Tensor& dy) const {
  const Tensor d_weight = c.parameter_gradient(weight), d_sum = c.input_gradient(input_sum),
               dx = d_sum.defined() ? d_sum : c.input_gradient(x), wide = c.scratch(fp8_wide);
  Tensor d_bias = c.parameter_gradient(bias);
  if (d_bias.defined() && !adds_bias(c)) {
    if (!c.accumulates(bias)) clear(d_bias);
    d_bias = {};
  }
  // a GPU's kernel that casts reads the gradient for all that is made of it
  const bool on_the_way = dy.place == Place::gpu && (d_weight.defined() || dx.defined());
  if (d_bias.defined() && !epilogue.differentiates() && !on_the_way)
    column_sum(d_bias, dy, c.accumulates(bias));
  if (!d_weight.defined() && !dx.defined()) return;
  Fp8Cast how = fp8_cast(c, {Fp8Class::gradients, fp8->number});
  if (on_the_way && epilogue.is_in_casts())
    how.activation = epilogue.activation, how.gated = epilogue.is_gated(),
    how.pre = by_row(c.output(preactivation));
  if (on_the_way && (!epilogue.differentiates() || epilogue.is_in_casts()))
    how.column_sums = d_bias, how.accumulate = c.accumulates(bias);
  const Fp8Tensor gradient = quantized(c, dy, of_gradient, fp8->in_blocks() ? Fp8::e4m3 : Fp8::e5m2,
                                       fp8->granularity(), how);
  if (d_weight.defined())
    fp8_linear_backward_weight(d_weight, gradient, fp8_input(c), c.accumulates(weight), wide);
  if (!dx.defined()) return;
  fp8_linear_backward_input(dx, gradient, fp8_weights(c, false),
                            d_sum.defined() ? Tensor() : c.addend(x), wide);
  if (!d_sum.defined()) return;
  const Tensor of_bias = c.parameter_gradient(input_bias);
  activate_backward(input_activation, d_sum,
                    of_bias.defined() ? of_bias : c.scratch(unused_input_bias), d_sum,
                    c.input(input_sum), c.accumulates(input_bias));
}

}  // namespace trainx::operations
