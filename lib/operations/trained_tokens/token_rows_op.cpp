#include "operations/embedding/embedding.hpp"
#include "operations/low_rank/low_rank.hpp"
#include "operations/op_context.hpp"
#include "operations/trained_tokens/token_rows_spec.hpp"
#include "operations/trained_tokens/trained_tokens.hpp"
#include <algorithm>

namespace trainx::operations {

void TokenRows::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  const Tensor at = c.scratch(places).view({-1}).narrow(0, 0, c.output(y).size(0));
  place_tokens(at, c.input(tokens), ids);
  replace_rows(c.output(y), c.input(base), c.parameter(rows), at, scale, c.parameter(table),
               c.input(tokens));
}

void TokenRows::run_backward(const OpContext& c) const {
  const Tensor dy = c.output_gradient(y);
  if (const Tensor d_rows = c.parameter_gradient(rows); d_rows.defined()) {
    const Tensor at = c.scratch(places).view({-1}).narrow(0, 0, dy.size(0));
    std::vector<std::int32_t> learning = ids;
    std::ranges::replace(learning, static_cast<std::int32_t>(untrained_token), -1);
    place_tokens(at, c.input(tokens), learning);
    Tensor d = dy;
    if (scale != 1) {
      d = c.scratch(scaled);
      scale_rows(d, dy, scale);
    }
    embedding_backward_tokens(d_rows, d, at, c.accumulates(rows), std::ssize(ids));
  }
  // The gradient of positions and segments, which replaced rows are added to as well.
  if (const Tensor d_base = c.input_gradient(base); d_base.defined() && d_base.data != dy.data)
    copy_columns(d_base, dy);
}

}  // namespace trainx::operations
