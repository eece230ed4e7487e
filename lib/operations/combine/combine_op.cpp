#include "operations/combine/combine.hpp"
#include "operations/combine/combine_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

namespace {

CombineParts parts_of(const OpContext& c, bool sparse) {
  return {by_row(c.input(Combine::rows)),   c.input(Combine::weights), c.input(Combine::places),
          by_row(c.input(Combine::shared)), c.input(Combine::gate),    sparse};
}

}  // namespace

void Combine::run_forward(const OpContext& c) const {
  if (c.writes(y)) combine(by_row(c.output(y)), parts_of(c, sparse));
}

void Combine::run_backward(const OpContext& c) const {
  combine_backward({c.input_gradient(rows),
                    c.input_gradient(weights),
                    {},
                    c.input_gradient(shared),
                    c.input_gradient(gate)},
                   c.output_gradient(y), parts_of(c, sparse));
}

}  // namespace trainx::operations
