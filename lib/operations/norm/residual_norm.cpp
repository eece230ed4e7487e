#include "core/error.hpp"
#include "operations/column_sum/column_sum.hpp"
#include "operations/norm/any_norm.hpp"
#include "operations/norm/layer_norm.hpp"
#include "operations/norm/residual.hpp"
#include "operations/norm/residual_norm_spec.hpp"
#include "operations/op_context.hpp"
#include "operations/rows/rows.hpp"

namespace trainx::operations {

void ResidualNorm::run_forward(const OpContext& c) const {
  const bool sums = adds && c.writes(sum), keeps = c.writes(mean) || c.writes(rstd),
             makes_norm = c.writes(normed);
  if (!sums && !keeps && !makes_norm) return;
  if (any_form) {
    NormedSum to{.sum = adds ? c.output(sum) : c.input(residual), .keep_statistics = keeps};
    if (!adds) to.sum = by_row(to.sum);
    to.mean = c.output(mean), to.rstd = c.output(rstd), to.normed = c.output(normed);
    return any_norm({rms, epsilon, weight_offset, branch_scale}, to,
                    sums ? c.input(residual) : Tensor(), sums ? c.input(branch) : Tensor(),
                    c.parameter(bias), c.parameter(weight), c.parameter(shift),
                    c.dropout(adds ? dropout : 0, positions, c.length()),
                    sums ? c.input(rows) : Tensor());
  }
  if (!norms) throw InternalError("a residual sum without a norm behind it has no kernel");
  if (!adds && makes_norm && !c.output(mean).defined())
    return layer_norm(c.output(normed), c.input(residual), c.parameter(weight), c.parameter(shift),
                      epsilon);
  NormedSum to{.sum = adds ? c.output(sum) : c.input(residual), .keep_statistics = keeps};
  to.mean = c.output(mean), to.rstd = c.output(rstd);
  Tensor scale, offset;
  if (makes_norm)
    to.normed = c.output(normed), scale = c.parameter(weight), offset = c.parameter(shift);
  if (!sums) return add_branch_layer_norm(to, {}, {}, {}, scale, offset, epsilon, {});
  add_branch_layer_norm(to, c.input(residual), c.input(branch), c.parameter(bias), scale, offset,
                        epsilon, c.dropout(dropout, positions, c.length()),
                        {c.parameter(before_weight), c.parameter(before_shift), epsilon},
                        c.input(rows));
}

void ResidualNorm::run_backward(const OpContext& c) const {
  const bool picked = c.input(rows).defined();
  const Tensor from_sum = adds ? c.output_gradient(sum) : Tensor(), added = c.addend(residual);
  if (from_sum.defined() && added.defined())
    throw InternalError("a residual has two gradients besides its norm's");
  if (any_form) return run_any_backward(c, from_sum.defined() ? from_sum : added);
  NormedSumGradients to;
  // of picked rows in place, before it goes to where they come from
  to.dx = picked ? c.output_gradient(normed) : c.input_gradient(residual);
  const Dropout drop = picked ? Dropout{} : c.dropout(adds ? dropout : 0, positions, c.length());
  if (drop) to.d_branch = c.input_gradient(branch);
  to.d_weight = c.parameter_gradient(weight);
  to.d_shift = c.parameter_gradient(shift);
  if (!picked) to.d_bias = c.parameter_gradient(bias);
  to.accumulate = c.accumulates(weight) || c.accumulates(shift) || c.accumulates(bias);
  if (const Tensor memory = c.scratch(unused); memory.defined()) {
    const std::int64_t columns = memory.numel() / 2;
    if (!to.d_weight.defined()) to.d_weight = memory.narrow(0, 0, columns);
    if (!to.d_shift.defined()) to.d_shift = memory.narrow(0, columns, columns);
  }
  add_branch_layer_norm_backward(to, from_sum.defined() ? from_sum : added,
                                 c.output_gradient(normed),
                                 adds ? c.output(sum) : c.input(residual), c.output(mean),
                                 c.output(rstd), c.parameter(weight), drop);
  if (picked) scatter_rows(c.input_gradient(residual), to.dx, c.input(rows));
}

void ResidualNorm::run_any_backward(const OpContext& c, const Tensor& d_sum) const {
  // of picked rows in place, before it goes to where they come from
  const bool picked = c.input(rows).defined();
  const Dropout drop = picked ? Dropout{} : c.dropout(adds ? dropout : 0, positions, c.length());
  NormedSumGradients to{.dx = picked ? c.output_gradient(normed) : c.input_gradient(residual)};
  if (adds && !picked) to.d_branch = c.input_gradient(branch);
  to.d_weight = c.parameter_gradient(weight);
  to.d_shift = c.parameter_gradient(shift);
  if (!picked) to.d_bias = c.parameter_gradient(bias);
  for (const int p : {static_cast<int>(weight), static_cast<int>(shift), static_cast<int>(bias)})
    if (c.parameter_gradient(p).defined()) to.accumulate = c.accumulates(p);
  any_norm_backward({rms, epsilon, weight_offset, branch_scale}, to, d_sum,
                    norms ? c.output_gradient(normed) : Tensor(),
                    by_row(adds ? c.output(sum) : c.input(residual)), c.output(mean),
                    c.output(rstd), c.parameter(weight), drop);
  if (picked) scatter_rows(c.input_gradient(residual), to.dx, c.input(rows));
}

void ResidualNorm::begin_backward(const OpContext& c) const {
  if (c.picks_rows() && adds) clear(c.input_gradient(residual));
}

void ResidualNorm::finish_backward(const OpContext& c) const {
  if (!c.picks_rows() || !adds) return;
  const Tensor d_residual = c.input_gradient(residual);
  const Dropout drop = c.dropout(dropout, positions, c.length());
  if (drop) drop_out(c.input_gradient(branch), d_residual, drop);
  if (c.parameter_gradient(bias).defined())
    column_sum(c.parameter_gradient(bias), drop ? c.input_gradient(branch) : d_residual,
               c.accumulates(bias));
}

}  // namespace trainx::operations
