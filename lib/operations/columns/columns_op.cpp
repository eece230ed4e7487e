#include "operations/columns/columns.hpp"
#include "operations/columns/columns_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void Columns::run_forward(const OpContext& c) const {
  if (c.writes(y)) take_columns(c.output(y), by_row(c.input(x)), first);
}

void Columns::run_backward(const OpContext& c) const {
  take_columns_backward(c.input_gradient(x), c.output_gradient(y), first, c.addend(x));
}

}  // namespace trainx::operations
