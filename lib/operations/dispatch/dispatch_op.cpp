#include "operations/dispatch/dispatch.hpp"
#include "operations/dispatch/dispatch_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void Dispatch::run_forward(const OpContext& c) const {
  const auto written = [&](int o) { return c.writes(o) ? c.output(o) : Tensor(); };
  const Tensor to_places = written(places), to_offsets = written(offsets);
  if (to_places.defined() || to_offsets.defined())
    sort_by_expert(to_places, to_offsets, c.input(indices), experts, {capacity, sparse});
  if (c.writes(rows)) dispatch_rows(c.output(rows), by_row(c.input(x)), c.output(places));
}

void Dispatch::run_backward(const OpContext& c) const {
  dispatch_rows_backward(c.input_gradient(x), c.output_gradient(rows), c.output(places),
                         c.addend(x), sparse);
}

}  // namespace trainx::operations
