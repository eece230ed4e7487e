#include "operations/dropout/dropout.hpp"
#include "operations/linear/linear.hpp"
#include "operations/low_rank/low_rank.hpp"
#include "operations/low_rank/low_rank_spec.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {

namespace {

/// Calls f(part's number, part, its first column of `narrow`).
template <class F>
void each_part(const std::vector<LowRankPart>& parts, const F& f) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    f(k, parts[k], at);
    at += parts[k].rank;
  }
}

/// [rows, columns] of scratch that larger layers of the block share.
Tensor shaped(const Tensor& scratch, std::int64_t rows, std::int64_t columns) {
  if (!scratch.defined()) return {};
  return scratch.view({-1}).narrow(0, 0, rows * columns).view({rows, columns});
}

Tensor columns_of(const Tensor& x, std::int64_t first, std::int64_t count) {
  return x.narrow(1, first, count);
}

}  // namespace

Dropout LowRank::dropout_of(const OpContext& c, std::size_t part, std::int64_t in) const {
  Dropout d = c.dropout(dropout, positions, length, first_site + static_cast<int>(part));
  // what is dropped follows from an element's place in all columns
  if (input_parts > 1) d.first_column = c.layer_part() * in, d.all_columns = in * input_parts;
  return d;
}

void LowRank::run_forward(const OpContext& c) const {
  if (!c.writes(narrow) && !c.writes(y)) return;
  const Tensor rows = by_row(c.input(x)), all_a = c.parameter(a);
  // x is not there where backward makes y anew of what was kept
  const Tensor like = rows.defined() ? rows : c.output(narrow);
  const Tensor low = rows_like(like, c.output(narrow), 0);
  const bool at_once = multiplies_at_once();
  if (c.writes(narrow) && at_once) scaled_linear(low, rows, all_a, parts.front().scale);
  if (c.writes(narrow) && !at_once)
    each_part(parts, [&](std::size_t k, const LowRankPart& p, std::int64_t at) {
      Tensor kept = rows;
      if (const Dropout drop = dropout_of(c, k, rows.size(1))) {
        kept = shaped(c.scratch(dropped), rows.size(0), rows.size(1));
        drop_out(kept, rows, drop);
      }
      scaled_linear(columns_of(low, at, p.rank), kept, all_a.narrow(0, at, p.rank), p.scale);
    });
  if (c.writes(y)) run_y(c, rows, low);
}

void LowRank::run_y(const OpContext& c, const Tensor& rows, const Tensor& low) const {
  const Tensor before = by_row(c.input(base)), sum = rows_like(low, c.output(y), c.past());
  if (const Tensor w = c.parameter(weight); w.defined()) {
    std::vector<AddedColumns> added;
    each_part(parts, [&](std::size_t k, const LowRankPart& p, std::int64_t at) {
      added.push_back({columns_of(low, at, p.rank), c.parameter(b_of(k)), p.first});
    });
    return summed_linear(sum, rows, w, c.parameter(bias), added);
  }
  each_part(parts, [&](std::size_t k, const LowRankPart& p, std::int64_t at) {
    scaled_linear(columns_of(sum, p.first, p.width), columns_of(low, at, p.rank),
                  c.parameter(b_of(k)), 1,
                  before.defined() ? columns_of(before, p.first, p.width) : Tensor());
  });
  if (!before.defined()) return;
  for (const LowRankPart& gap : gaps(before.size(1)))
    copy_columns(columns_of(sum, gap.first, gap.width), columns_of(before, gap.first, gap.width));
}

void LowRank::run_backward(const OpContext& c) const {
  const Tensor dy = c.output_gradient(y),
               d_narrow = shaped(c.scratch(narrow_gradient), dy.size(0), ranks());
  each_part(parts, [&](std::size_t k, const LowRankPart& p, std::int64_t at) {
    const Tensor of_part = columns_of(dy, p.first, p.width);
    if (const Tensor d_b = c.parameter_gradient(b_of(k)); d_b.defined())
      scaled_linear_backward_weight(d_b, of_part, columns_of(c.output(narrow), at, p.rank),
                                    c.accumulates(b_of(k)), c.scratch(cast));
    if (d_narrow.defined())
      scaled_linear_backward_input(columns_of(d_narrow, at, p.rank), of_part, c.parameter(b_of(k)),
                                   p.scale);
  });
  if (d_narrow.defined()) run_input_backward(c, dy, d_narrow);
  // last: it may lie where dy does
  if (const Tensor d_base = c.input_gradient(base); d_base.defined() && d_base.data != dy.data)
    copy_columns(d_base, dy);
}

void LowRank::run_input_backward(const OpContext& c, const Tensor& dy,
                                 const Tensor& d_narrow) const {
  const Tensor dx = c.input_gradient(x), d_a = c.parameter_gradient(a), all_a = c.parameter(a);
  const Tensor rows = by_row(c.input(x)), w = c.parameter(weight);
  if (dropout == 0) {
    if (d_a.defined())
      scaled_linear_backward_weight(d_a, d_narrow, rows, c.accumulates(a), c.scratch(cast));
    if (dx.defined() && w.defined())
      summed_linear_backward_input(dx, dy, w, d_narrow, all_a, c.addend(x));
    else if (dx.defined())
      scaled_linear_backward_input(dx, d_narrow, all_a, 1, c.addend(x));
    return;
  }
  // one of them is there: a gradient of `a`, or one of x, is made
  const std::int64_t in = d_a.defined() ? d_a.size(1) : all_a.size(1);
  const Tensor kept = shaped(c.scratch(dropped), d_narrow.size(0), in);
  Tensor sum = c.addend(x);
  each_part(parts, [&](std::size_t k, const LowRankPart& p, std::int64_t at) {
    const Dropout drop = dropout_of(c, k, in);
    const Tensor of_part = columns_of(d_narrow, at, p.rank);
    if (d_a.defined()) {
      drop_out(kept, rows, drop);
      scaled_linear_backward_weight(d_a.narrow(0, at, p.rank), of_part, kept, c.accumulates(a),
                                    c.scratch(cast));
    }
    if (!dx.defined()) return;
    scaled_linear_backward_input(kept, of_part, all_a.narrow(0, at, p.rank), 1);
    drop_out(kept, kept, drop);
    add_rows(dx, sum, kept);
    sum = dx;
  });
  if (dx.defined() && w.defined()) linear_backward_input(dx, dy, w, dx);
}

}  // namespace trainx::operations
