#include "operations/activation/activation.hpp"
#include "operations/activation/activation_layer_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void ActivationLayer::run_forward(const OpContext& c) const {
  if (c.writes(y)) activate(activation, c.output(y), by_row(c.input(x)));
}

void ActivationLayer::run_backward(const OpContext& c) const {
  activate_backward(activation, c.input_gradient(x), c.scratch(unused_bias), c.output_gradient(y),
                    by_row(c.input(x)), false);
}

}  // namespace trainx::operations
