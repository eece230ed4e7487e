#include "operations/embedding/embedding.hpp"
#include "operations/embedding/embedding_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

void Embedding::run_forward(const OpContext& c) const {
  if (!c.writes(out)) return;
  if (const Tensor types = c.input(token_types); types.defined())
    return segment_embedding(c.output(out), c.input(tokens), types, c.parameter(token),
                             c.parameter(position), c.parameter(type));
  embedding(c.output(out), c.input(tokens), c.parameter(token),
            c.parameter(position).narrow(0, c.past(), c.length()),
            c.dropout(dropout, positions, c.length()), c.input(starts));
}

void Embedding::run_backward(const OpContext& c) const {
  Tensor d = c.output_gradient(out);
  if (const Dropout drop = c.dropout(dropout, positions, c.length())) {
    drop_out(c.scratch(masked), d, drop);
    d = c.scratch(masked);
  }
  embedding_backward_tokens(c.parameter_gradient(token), d, c.input(tokens), c.accumulates(token),
                            untrained_token);
  embedding_backward_positions(c.parameter_gradient(position), d, c.length(),
                               c.accumulates(position), c.input(starts));
  if (const Tensor types = c.input(token_types); types.defined())
    embedding_backward_tokens(c.parameter_gradient(type), d, types, c.accumulates(type));
}

}  // namespace trainx::operations
