#include "core/error.hpp"
#include "operations/activation/activation.hpp"
#include "operations/cast/cast.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/linear/linear.hpp"
#include "operations/linear/linear_spec.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::operations {

bool Linear::adds_bias(const OpContext& c) const { return !adds_up || c.layer_part() == 0; }

void Linear::run_forward(const OpContext& c) const {
  const bool multiplies = c.writes(epilogue.keeps_sum() ? preactivation : y),
             activates = epilogue.activates() && c.writes(y);
  if (!multiplies && !activates) return;
  if (fp8) return run_fp8_forward(c, multiplies, activates);
  const Tensor x_rows = by_row(c.input(x)), w = c.parameter(weight),
               b = adds_bias(c) ? c.parameter(bias) : Tensor();
  const Activation activation = epilogue.activation;
  if (!epilogue.keeps_sum()) {
    const Tensor out = rows_like(x_rows, c.output(y), c.past());
    if (const Tensor low_out = c.scratch(low); low_out.defined()) {
      linear(low_out, x_rows, w, b);
      operations::cast(out, low_out);
    } else {
      linear(out, x_rows, w, b);
    }
    if (activates) activate(activation, out, out);
    return;
  }
  if (multiplies && activates)
    return linear_activation(activation, c.output(y), c.output(preactivation), x_rows, w, b);
  if (multiplies) linear(c.output(preactivation), x_rows, w, b);
  if (activates) activate(activation, c.output(y), c.output(preactivation));
}

void Linear::run_backward(const OpContext& c) const {
  const Tensor dy = c.output_gradient(epilogue.is_differentiated_behind() ? preactivation : y);
  const Tensor d_bias = c.parameter_gradient(bias);
  const bool on_the_way = epilogue.is_in_casts() && (c.scratch(fp8_gradient).defined() ||
                                                     c.scratch(fp8_gradient_transposed).defined());
  if (epilogue.differentiates() && !on_the_way)
    activate_backward(epilogue.activation, dy, d_bias.defined() ? d_bias : c.scratch(unused_bias),
                      dy, c.output(epilogue.keeps_sum() ? preactivation : y), c.accumulates(bias));
  fp8 ? run_fp8_products_backward(c, dy) : run_products_backward(c, dy);
}

void Linear::run_products_backward(const OpContext& c, const Tensor& dy) const {
  const Tensor x_rows = by_row(c.input(x)), w = c.parameter(weight);
  const Tensor d_weight = c.parameter_gradient(weight), d_bias = c.parameter_gradient(bias);
  Tensor rounded = dy, exact = x_rows;
  if (const Tensor low_dy = c.scratch(low); low_dy.defined()) {
    rounded = low_dy;
    operations::cast(rounded, dy);
    if (d_weight.defined()) {
      exact = c.scratch(cast).view({-1}).narrow(0, 0, x_rows.numel()).view(x_rows.dims);
      operations::cast(exact, x_rows);
    }
  }
  if (d_weight.defined())
    linear_backward_weight(d_weight, dy, exact, c.accumulates(weight),
                           epilogue.makes_logits() ? Tensor() : c.scratch(cast));
  if (!epilogue.differentiates() && d_bias.defined()) {
    if (adds_bias(c))
      column_sum(d_bias, dy, c.accumulates(bias));
    else if (!c.accumulates(bias))
      clear(d_bias);
  }
  if (const Tensor d_sum = c.input_gradient(input_sum); d_sum.defined()) {
    const Tensor of_bias = c.parameter_gradient(input_bias);
    return linear_activation_backward(input_activation, d_sum,
                                      of_bias.defined() ? of_bias : c.scratch(unused_input_bias),
                                      rounded, w, c.input(input_sum), c.accumulates(input_bias));
  }
  if (const Tensor dx = c.input_gradient(x); dx.defined())
    linear_backward_input(dx, rounded, w, c.addend(x));
}

}  // namespace trainx::operations
