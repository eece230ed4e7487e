#include "operations/embedding/embedding.hpp"
#include "operations/embedding/embedding_spec.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::operations {

void Embedding::run_forward(const OpContext& c) const {
  if (!c.writes(out)) return;
  if (const Tensor types = c.input(token_types); types.defined())
    return segment_embedding(c.output(out), c.input(tokens), types, c.parameter(token),
                             c.parameter(position).narrow(0, first_position, c.length()),
                             c.parameter(type));
  const Tensor table = c.parameter(position);
  if (!table.defined() || scale != 1)
    return scaled_embedding(
        c.output(out), c.input(tokens), c.parameter(token),
        table.defined() ? table.narrow(0, first_position + c.past(), c.length()) : Tensor(), scale,
        c.dropout(dropout, positions, c.length()), c.input(starts), scales_tokens);
  embedding(c.output(out), c.input(tokens), c.parameter(token),
            table.narrow(0, first_position + c.past(), c.length()),
            c.dropout(dropout, positions, c.length()), c.input(starts));
}

void Embedding::run_backward(const OpContext& c) const {
  Tensor d = c.output_gradient(out);
  if (const Dropout drop = c.dropout(dropout, positions, c.length())) {
    drop_out(c.scratch(masked), d, drop);
    d = c.scratch(masked);
  }
  const auto scale_gradient = [&] {
    if (scale == 1) return;
    scale_rows(c.scratch(masked), d, scale);
    d = c.scratch(masked);
  };
  if (!scales_tokens) scale_gradient();
  if (const Tensor table = c.parameter_gradient(position); table.defined()) {
    if (first_position > 0 && !c.accumulates(position)) clear(table.narrow(0, 0, first_position));
    embedding_backward_positions(table.narrow(0, first_position, table.size(0) - first_position), d,
                                 c.length(), c.accumulates(position), c.input(starts));
  }
  if (const Tensor table = c.parameter_gradient(type); table.defined())
    embedding_backward_tokens(table, d, c.input(token_types), c.accumulates(type));
  if (scales_tokens) scale_gradient();
  if (const Tensor table = c.parameter_gradient(token); table.defined())
    embedding_backward_tokens(table, d, c.input(tokens), c.accumulates(token), untrained_token);
}

}  // namespace trainx::operations
