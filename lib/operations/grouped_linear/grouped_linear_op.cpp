#include "core/error.hpp"
#include "operations/grouped_linear/grouped_linear.hpp"
#include "operations/grouped_linear/grouped_linear_spec.hpp"
#include "operations/low_rank/low_rank.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::operations {

namespace {

/// [experts * out, in], however the parameter's dims are.
Tensor by_input(const Tensor& weight, std::int64_t in) {
  return weight.defined() ? weight.view({-1, in}) : weight;
}

}  // namespace

bool GroupedLinear::adds_bias(const OpContext& c) const { return !adds_up || c.layer_part() == 0; }

void GroupedLinear::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  const Tensor rows = by_row(c.input(x));
  grouped_linear(c.output(y), rows, by_input(c.parameter(weight), rows.size(1)), c.input(offsets));
  if (const Tensor added = c.parameter(bias); added.defined() && adds_bias(c))
    add_expert_bias(c.output(y), added, c.input(offsets));
}

void GroupedLinear::run_backward(const OpContext& c) const {
  const Tensor dy = c.output_gradient(y), of = c.input(offsets);
  if (const Tensor dw = c.parameter_gradient(weight); dw.defined()) {
    const Tensor rows = by_row(c.input(x));
    grouped_linear_backward_weight(by_input(dw, rows.size(1)), dy, rows, of, c.accumulates(weight),
                                   c.scratch(cast));
  }
  if (const Tensor to = c.parameter_gradient(bias); to.defined()) {
    if (adds_bias(c))
      grouped_linear_backward_bias(to, dy, of, c.accumulates(bias));
    else if (!c.accumulates(bias))
      clear(to);
  }
  const Tensor dx = c.input_gradient(x), there = c.addend(x);
  if (!dx.defined()) return;
  Tensor own = dx;
  if (there.defined()) {
    const Tensor room = c.scratch(own_gradient);
    if (!room.defined()) throw InternalError("grouped_linear: a gradient that it does not add to");
    own = room.view({-1}).narrow(0, 0, dx.numel()).view(dx.dims);
  }
  grouped_linear_backward_input(own, dy, by_input(c.parameter(weight), dx.size(1)), of);
  if (there.defined()) add_rows(dx, there, own);
}

}  // namespace trainx::operations
