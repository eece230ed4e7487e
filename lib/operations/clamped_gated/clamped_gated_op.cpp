#include "operations/clamped_gated/clamped_gated.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void ClampedGated::run_forward(const OpContext& c) const {
  if (c.writes(y)) clamped_gated(*this, c.output(y), by_row(c.input(x)));
}

void ClampedGated::run_backward(const OpContext& c) const {
  clamped_gated_backward(*this, c.input_gradient(x), c.output_gradient(y), by_row(c.input(x)));
}

}  // namespace trainx::operations
