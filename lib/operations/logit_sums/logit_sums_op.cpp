#include "kernels/loss/logit_sums.hpp"
#include "operations/logit_sums/logit_sums.hpp"
#include "operations/logit_sums/logit_sums_spec.hpp"
#include "operations/op_context.hpp"
#include <algorithm>

namespace trainx::operations {

static_assert(LogitSums::numbers_of_row == kernels::LogitNumber::count);

LogitPart LogitSums::part(const OpContext& c, const Tensor& of) const {
  const std::int64_t width = of.size(1), first = c.layer_part() * width;
  return {std::clamp<std::int64_t>(classes - first, 0, width), first, {scale, soft_cap}};
}

void LogitSums::run_forward(const OpContext& c) const {
  if (!c.writes(numbers)) return;
  logit_sums(c.output(numbers), c.input(logits), c.input(targets), part(c, c.input(logits)));
}

void LogitSums::run_backward(const OpContext& c) const {
  logit_sums_backward(c.input_gradient(logits), c.output_gradient(numbers), c.output(numbers),
                      c.input(logits), c.input(targets), part(c, c.input(logits)));
}

}  // namespace trainx::operations
