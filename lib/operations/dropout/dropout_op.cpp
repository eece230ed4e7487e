#include "operations/dropout/dropout.hpp"
#include "operations/dropout/dropout_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void DropoutLayer::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  drop_out(c.output(y), c.input(x), c.dropout(probability, positions, length, site));
}

void DropoutLayer::run_backward(const OpContext& c) const {
  drop_out(c.input_gradient(x), c.output_gradient(y),
           c.dropout(probability, positions, length, site));
}

}  // namespace trainx::operations
