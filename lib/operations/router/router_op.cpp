#include "operations/cast/cast.hpp"
#include "operations/op_context.hpp"
#include "operations/router/router.hpp"
#include "operations/router/router_spec.hpp"

namespace trainx::operations {

namespace {

RouterCasts casts_of(const OpContext& c) {
  return {c.scratch(Router::x_cast), c.scratch(Router::weight_cast), c.scratch(Router::d_x),
          c.scratch(Router::parts), c.scratch(Router::part_sums)};
}

}  // namespace

void Router::run_forward(const OpContext& c) const {
  const Tensor of_all = c.output(scores), sums = has_z ? c.output(log_sums) : Tensor();
  if (c.writes(scores)) {
    const Tensor more = c.input(added);
    if (more.defined()) operations::cast(of_all, more);
    router_scores(*this, of_all, sums, by_row(c.input(x)), c.parameter(weight), c.parameter(bias),
                  casts_of(c), more.defined());
  }
  if (has_z && c.writes(z)) add_router_z(c.output(z), c.input(z_before), sums);
  const auto written = [&](int o) { return c.writes(o) ? c.output(o) : Tensor(); };
  const Tensor to_weights = written(weights), to_indices = written(indices);
  if (to_weights.defined() || to_indices.defined())
    choose_experts(*this, to_weights, to_indices, of_all, c.parameter(correction));
  if (balances && c.writes(balanced))
    balance_experts(*this, c.output(balanced), c.input(balance), of_all, c.output(indices));
}

void Router::run_backward(const OpContext& c) const {
  const Tensor d = c.scratch(d_logits), x_rows = by_row(c.input(x)),
               d_balanced = balances ? c.output_gradient(balanced) : Tensor();
  const RouterCasts casts = casts_of(c);
  RouterZGradient of_z;
  if (has_z) of_z = {c.output_gradient(z), c.output(log_sums)};
  router_scores_backward(*this, d, c.output_gradient(weights), d_balanced, of_z, c.output(scores),
                         c.output(indices), casts);
  if (const Tensor to = c.input_gradient(z_before); to.defined())
    operations::cast(to, c.output_gradient(z));
  if (const Tensor to = c.input_gradient(added); to.defined()) operations::cast(to, d);
  if (const Tensor to = c.parameter_gradient(bias); to.defined())
    router_backward_bias(to, d, c.accumulates(bias), casts);
  if (const Tensor to = c.input_gradient(balance); to.defined()) operations::cast(to, d_balanced);
  if (const Tensor dw = c.parameter_gradient(weight); dw.defined())
    router_backward_weight(dw, d, x_rows, c.accumulates(weight), casts);
  if (const Tensor dx = c.input_gradient(x); dx.defined())
    router_backward_input(dx, d, c.parameter(weight), c.addend(x), casts);
}

}  // namespace trainx::operations
