#include "operations/gated/gated.hpp"
#include "operations/gated/gated_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void Gated::run_forward(const OpContext& c) const {
  if (c.writes(y)) gated(activation, c.output(y), by_row(c.input(x)));
}

void Gated::run_backward(const OpContext& c) const {
  gated_backward(activation, c.input_gradient(x), c.output_gradient(y), by_row(c.input(x)));
}

}  // namespace trainx::operations
