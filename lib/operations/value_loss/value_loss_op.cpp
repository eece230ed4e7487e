#include "operations/op_context.hpp"
#include "operations/value_loss/value_loss.hpp"

namespace trainx::operations {
namespace {

LossTo value_loss_to(const OpContext& c) {
  const BoundBlock& b = c.bound();
  return {Tensor(), c.whole(b.loss_sum), c.whole(b.target_count),
          !c.is_first_chunk() || c.block().accumulates(b.loss_sum)};
}

}  // namespace

// A head of values computes the rows of all samples at once.
void ValueLoss::run_loss(const OpContext& c) const {
  value_loss_with_gradient(kind, value_loss_to(c), c.input(logits), c.whole(c.bound().targets),
                           c.block().loss_seed(c.bound().loss_scale));
}

void ValueLoss::run_evaluation(const OpContext& c) const {
  value_loss(kind, value_loss_to(c), c.input(logits), c.whole(c.bound().targets));
}

}  // namespace trainx::operations
