#include "operations/head_norm/head_norm.hpp"
#include "operations/op_context.hpp"

namespace trainx::operations {
namespace {

HeadNormWeights weights_of(const OpContext& c) {
  return {c.parameter(HeadNorm::query_weight), c.parameter(HeadNorm::query_bias),
          c.parameter(HeadNorm::key_weight), c.parameter(HeadNorm::key_bias)};
}

}  // namespace

void HeadNorm::run_forward(const OpContext& c) const {
  if (!c.writes(y) && !c.writes(rstd)) return;
  const Tensor from = by_row(c.input(x));
  Tensor to = c.output(y);
  if (to.defined()) to = rows_like(from, by_row(to), c.past());
  head_norm(*this, {to, c.output(mean), c.output(rstd)}, from, weights_of(c));
}

void HeadNorm::run_backward(const OpContext& c) const {
  const HeadNormWeights gradients{c.parameter_gradient(query_weight),
                                  c.parameter_gradient(query_bias),
                                  c.parameter_gradient(key_weight), c.parameter_gradient(key_bias)};
  bool accumulate = false;
  for (const int p : {query_weight, query_bias, key_weight, key_bias})
    accumulate = accumulate || c.accumulates(p);
  head_norm_backward(*this, c.input_gradient(x), gradients, c.output_gradient(y),
                     by_row(c.input(x)), {{}, c.output(mean), c.output(rstd)}, weights_of(c),
                     accumulate);
}

}  // namespace trainx::operations
