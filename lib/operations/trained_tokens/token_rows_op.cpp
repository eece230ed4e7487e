#include "operations/embedding/embedding.hpp"
#include "operations/low_rank/low_rank.hpp"
#include "operations/op_context.hpp"
#include "operations/trained_tokens/token_rows_spec.hpp"
#include "operations/trained_tokens/trained_tokens.hpp"
#include <algorithm>
#include <utility>

namespace trainx::operations {

Tensor TokenRows::own_tokens(const OpContext& c) const {
  const Tensor all = c.input(tokens);
  if (part_rows == 0) return all;
  const Tensor to = c.scratch(own).view({-1}).narrow(0, 0, all.numel()).view(all.dims);
  ids_of_part(to, all, {c.layer_part() * part_rows, part_rows}, program::none);
  return to;
}

std::vector<std::int32_t> TokenRows::own_ids(const OpContext& c,
                                             std::vector<std::int32_t> all) const {
  return part_rows == 0 ? std::move(all) : ids_within(all, c.layer_part() * part_rows, part_rows);
}

void TokenRows::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  const Tensor at = c.scratch(places).view({-1}).narrow(0, 0, c.output(y).size(0));
  const Tensor here = own_tokens(c);
  place_tokens(at, here, own_ids(c, ids));
  replace_rows(c.output(y), c.input(base), c.parameter(rows), at, scale, c.parameter(table), here);
}

void TokenRows::run_backward(const OpContext& c) const {
  const Tensor dy = c.output_gradient(y);
  if (const Tensor d_rows = c.parameter_gradient(rows); d_rows.defined()) {
    const Tensor at = c.scratch(places).view({-1}).narrow(0, 0, dy.size(0));
    std::vector<std::int32_t> learning = ids;
    std::ranges::replace(learning, static_cast<std::int32_t>(untrained_token), -1);
    place_tokens(at, own_tokens(c), own_ids(c, std::move(learning)));
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
