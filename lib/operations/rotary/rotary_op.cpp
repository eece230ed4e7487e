#include "operations/op_context.hpp"
#include "operations/rotary/rotary.hpp"

namespace trainx::operations {

void Rotary::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  const Tensor from = by_row(c.input(x)), to = rows_like(from, by_row(c.output(y)), c.past());
  rotate(*this, to, from, c.input(starts), c.past());
}

void Rotary::run_backward(const OpContext& c) const {
  rotate_backward(*this, c.input_gradient(x), c.output_gradient(y),
                  clip > 0 ? by_row(c.input(x)) : Tensor(), c.input(starts));
}

}  // namespace trainx::operations
