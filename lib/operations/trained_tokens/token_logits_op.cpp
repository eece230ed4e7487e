#include "operations/low_rank/low_rank.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"
#include "operations/trained_tokens/token_logits_spec.hpp"
#include "operations/trained_tokens/trained_tokens.hpp"

namespace trainx::operations {

namespace {

/// [rows, columns] of scratch that larger chunks share.
Tensor narrow_scratch(const Tensor& scratch, std::int64_t rows, std::int64_t columns) {
  return scratch.view({-1}).narrow(0, 0, rows * columns).view({rows, columns});
}

}  // namespace

std::vector<std::int32_t> TokenLogits::own_ids(const OpContext& c, const Tensor& logits) const {
  const std::int64_t here = logits.size(1);
  return ids_within(ids, c.layer_part() * here, here);
}

void TokenLogits::run_forward(const OpContext& c) const {
  if (!c.writes(y)) return;
  const Tensor to = by_row(c.output(y)), hidden = by_row(c.input(x));
  const std::int64_t count = std::ssize(ids);
  const Tensor some = narrow_scratch(c.scratch(columns), to.size(0), count);
  scaled_linear(some, hidden, c.parameter(rows).narrow(0, 0, count), 1);
  copy_columns(to, by_row(c.input(base)));
  put_listed_columns(to, some, own_ids(c, to));
}

void TokenLogits::run_backward(const OpContext& c) const {
  const Tensor dy = c.output_gradient(y);
  const std::int64_t count = std::ssize(ids);
  const Tensor d_some = narrow_scratch(c.scratch(columns), dy.size(0), count);
  const std::vector<std::int32_t> own = own_ids(c, dy);
  take_listed_columns(d_some, dy, own);
  if (const Tensor d_rows = c.parameter_gradient(rows); d_rows.defined()) {
    scaled_linear_backward_weight(d_rows.narrow(0, 0, count), d_some, by_row(c.input(x)),
                                  c.accumulates(rows), c.scratch(cast));
    if (!c.accumulates(rows)) clear(d_rows.narrow(0, count, d_rows.size(0) - count));
  }
  if (const Tensor dx = c.input_gradient(x); dx.defined())
    scaled_linear_backward_input(dx, d_some, c.parameter(rows).narrow(0, 0, count), 1, c.addend(x));
  const Tensor d_base = c.input_gradient(base);
  if (!d_base.defined()) return;
  if (d_base.data != dy.data) copy_columns(d_base, dy);
  put_listed_columns(d_base, {}, own);
}

}  // namespace trainx::operations
